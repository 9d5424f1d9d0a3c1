# The recorder and those that read for it go before others by a nice value of -10, its command does not; whoever chose
# another value keeps it.
# beside others
. "$SOURCE/tests/lib.sh"
need_root
need_cpu_sampling
setpriority_works() {
	[ "$(nice -n -10 nice 2>/dev/null)" = -10 ]
}
setpriority_works || skip "nice values cannot be lowered here"
# The nice values and scheduling classes of the recorder and its helpers, and the command's nice value.
look='ps -o ni=,cls=,comm= --ppid $PPID --pid $PPID | grep culprit | sort -u; nice'
culprit record -q -o plain.prof -- sh -c "$look" >seen || fail "record failed"
expect_equal "nice value of the command" "$(tail -n 1 seen)" 0
expect_match "recorder" "$(cat seen)" "^ *-10 +(TS|RR) culprit\$"
expect_match "who parses" "$(cat seen)" "^ *-10 +(TS|RR) culprit-parse\$"
nice -n 5 culprit record -q -o nice.prof -- sh -c "$look" >seen || fail "record failed"
expect_equal "nice value of the command" "$(tail -n 1 seen)" 5
expect_match "recorder" "$(cat seen)" "^ *5 +(TS|RR) culprit\$"
