# What other tools' files say again and again is read once: a file of four times as much of it costs
# about four times as much.
. "$SOURCE/tests/lib.sh"
. "$SOURCE/tests/growth.sh"
need_command python3
make="$SOURCE/tests/growth-files"

growth 9 300 simpleperf-meta report FILE
growth 9 6000 simpleperf-symbols report FILE
growth 9 200 jitdump-execs report FILE
