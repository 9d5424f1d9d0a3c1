# Whole CPUs: together, and row by row the same.
# beside others
. "$SOURCE/tests/lib.sh"
need_recording system
cpus=$(nproc)
# A second each: what the scheduler takes between two steps of ours is a few milliseconds.
culprit stat -q -a -x , -e task-clock --duration 1s -o all
expect_equal "lines of all together" "$(wc -l <all)" 1
# each CPU's clock runs for all of the time
expect_between "CPUs utilized" "$(cut -d , -f 6 all)" "$(awk -v n="$cpus" 'BEGIN { print 0.9 * n }')" "$(awk -v n="$cpus" 'BEGIN { print 1.1 * n }')"
culprit stat -q -a -A -x , -e task-clock --timeout 100 -o each
expect_equal "lines of each CPU" "$(wc -l <each)" "$cpus"
expect_match "first field" "$(head -n 1 each)" '^CPU0,[0-9.]+,msec,task-clock,'
culprit stat -q -a --per-core -x , -e task-clock --timeout 100 -o cores
expect_equal "CPUs of all cores" "$(awk -F , '{ n += $2 } END { print n }' cores)" "$cpus"
expect_match "first field" "$(head -n 1 cores)" '^S[0-9-]+-D[0-9-]+-C[0-9]+,[0-9]+,'
culprit stat -q -C 0 -x , -e task-clock --timeout 1000 -o one
expect_between "CPUs utilized of one" "$(cut -d , -f 6 one)" 0.9 1.1
# a command says for how long, and its end ends it
culprit stat -q -a -x , -e task-clock -o all sleep 1
expect_between "CPUs utilized" "$(cut -d , -f 6 all)" "$(awk -v n="$cpus" 'BEGIN { print 0.9 * n }')" "$(awk -v n="$cpus" 'BEGIN { print 1.1 * n }')"
