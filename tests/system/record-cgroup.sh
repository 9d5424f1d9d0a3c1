# Only what runs in the control group is sampled, however the group is named.
# beside others
. "$SOURCE/tests/lib.sh"
need_cpu_sampling
need_root

# the hierarchy that perf events use
mount=$(awk '$3 == "cgroup" && $4 ~ /(^|,)perf_event(,|$)/ { print $2; exit }' /proc/mounts)
[ -n "$mount" ] || mount=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
[ -n "$mount" ] || skip "no control groups are mounted"
name=culprit-test-$$
group=$mount/$name
mkdir "$group" 2>err || skip "cannot make a control group: $(cat err)"
inside= outside=
leave() {
	for pid in $inside $outside; do
		kill "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
	for attempt in 1 2 3 4 5 6 7 8 9 10; do
		rmdir "$group" 2>/dev/null && return
		sleep 0.05
	done
}
trap leave EXIT
"$KERNELS/busy" split 60 &
outside=$!
"$KERNELS/busy" split 60 &
inside=$!
echo $inside >"$group/cgroup.procs" || skip "cannot put a process into a control group"

for path in "/$name" "$group"; do
	culprit record --quiet -F 1000 --per-process --cgroup "$path" --duration 200ms -o group.prof
	expect_between "samples with '$path'" "$(samples group.prof)" 5 1000
	expect_equal "samples outside with '$path'" "$(samples group.prof 12 $outside)" 0
	expect_equal "samples inside with '$path'" "$(samples group.prof 12 $inside)" "$(samples group.prof)"
done
expect_equal "group of the samples" "$(samples group.prof 15 "/$name")" "$(samples group.prof)"
culprit report group.prof --by cgroup >report
expect_match "report" "$(cat report)" " /$name\$"
# A command beside the group tells how long, and is not sampled itself.
culprit record --quiet -F 1000 --cgroup "$name" -o beside.prof -- "$KERNELS/phases" 50 50 >/dev/null
expect_equal "samples of the command" "$(samples beside.prof 11 phases)" 0

expect_status 1 culprit record --quiet --cgroup no-such-group -o none.prof 2>err
expect_equal "message" "$(cat err)" "culprit: there is no control group 'no-such-group' below '$mount'"
expect_status 1 culprit record --quiet --cgroup "$PWD" -o none.prof 2>err
expect_equal "message" "$(cat err)" "culprit: there is no control group '$PWD' below '$mount'"
[ ! -e none.prof ] && [ ! -e none.prof.open ] || fail "nothing was recorded, yet a file was left"

# Its removal ends a recording that nothing else ends.
culprit record --quiet -F 100 --cgroup "$group" -o removed.prof &
recording=$!
await_sampling $recording
kill -0 $recording || fail "it ended while the group was there"
leave
inside= outside=
[ ! -e "$group" ] || skip "the control group cannot be removed"
expect_status 0 wait $recording
