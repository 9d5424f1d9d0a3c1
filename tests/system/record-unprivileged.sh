# An ordinary user records what it runs itself; what it may not is said with the reason.
# beside others
. "$SOURCE/tests/lib.sh"
need_root
need_command setpriv
[ "$(cat /proc/sys/kernel/perf_event_paranoid)" = 2 ] || skip "kernel.perf_event_paranoid is not 2"

make_open
cd open
nobody() {
	setpriv --reuid 65534 --regid 65534 --clear-groups "$@"
}
nobody ./busy split 0.1 2>/dev/null || skip "another user cannot run programs here"
# A host that takes the CPU away takes samples, but seldom three times.
for attempt in 1 2 3; do
	nobody ./culprit record -e cpu-clock -F 1000 -o own.prof -- ./busy split 0.7 2>said || { cat said; fail "own program"; }
	one=$(samples own.prof 10 busy_one)
	two=$(samples own.prof 10 busy_two)
	[ $((one + two)) -lt 600 ] || break
done
expect_between "samples" $((one + two)) 600 800
expect_between "busy_one of both" "$(ratio "$one" $((one + two)))" 0.25 0.42
expect_match "what was said" "$(cat said)" "the command's tasks inherit one fixed period"
expect_equal "events" "$("$TOOLS/cells" own.prof | awk -F '\t' '$1 == "cell" { print $2 }' | sort -u)" cpu-clock:u

expect_status 1 nobody ./culprit record --quiet -e cpu-clock -F 100 -a --duration 100ms -o all.prof 2>said
expect_match "message" "$(cat said)" "^culprit: cannot sample 'cpu-clock.*permission denied"
expect_status 1 nobody ./culprit record --quiet -F 100 -p 1 --duration 100ms -o all.prof 2>said
expect_match "message" "$(cat said)" "^culprit: cannot (sample|watch) .*permission denied|not permitted"
[ ! -e all.prof ] || fail "nothing was recorded, yet a file was left"

# Counts of inherited events on several CPUs: each fault once, whichever CPU it was on.
nobody ./culprit record --quiet -e page-faults -c 10 -o faults.prof -- ./busy execs 20 2
counted=$(bill faults.prof count)
expect_between "samples of page faults" "$(bill faults.prof stored)" $((counted / 10 - 45)) $((counted / 10))
