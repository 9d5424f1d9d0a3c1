# What other tools' files say again and again is read once: a file of four times as much of it costs
# about four times as much.
. "$SOURCE/tests/lib.sh"
. "$SOURCE/tests/growth.sh"
need_command python3
make="$SOURCE/tests/growth-files"

growth 9 300 simpleperf-meta report FILE
growth 9 6000 simpleperf-symbols report FILE
growth 9 200 jitdump-execs report FILE

# One long text of many rows is looked at once, here and in what is made of it.
growth 9 1000 pprof-labels report FILE
growth 9 3000 pprof-functions report FILE
growth 9 2500 pprof-mappings report FILE
growth 9 600 perf-pmu-name report FILE
growth 9 4000 perf-comm report FILE
growth 9 4000 callgrind-object report --limit 1 FILE
