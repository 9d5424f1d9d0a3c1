# An ordinary user's rings have a limit for all of them: who finds no room says whose limit it is, and the
# recording that has the room goes on.
# beside others
. "$SOURCE/tests/lib.sh"
need_root
need_command setpriv prlimit
[ "$(cat /proc/sys/kernel/perf_event_paranoid)" = 2 ] || skip "kernel.perf_event_paranoid is not 2"
make_open
cd open
# A user whom no other test has.
user() {
	prlimit --memlock=0 setpriv --reuid 65531 --regid 65531 --clear-groups "$@"
}
user ./busy split 0.1 2>/dev/null || skip "another user cannot run programs here"

user ./culprit record --quiet -e cpu-clock:u -F 1000 -o first.prof -- ./busy split 2 2>first &
first=$!
trap 'kill $first 2>/dev/null || true' EXIT
# setpriv has no events, and is the recorder afterwards
await_sampling $first
refused=
: >wrote
for attempt in 1 2 3 4 5 6 7 8; do
	user ./culprit record --quiet -e cpu-clock:u -F 1000 -o other$attempt.prof -- ./busy split 0.3 2>said$attempt &
	others="${others:-} $!"
done
attempt=0
for other in $others; do
	attempt=$((attempt + 1))
	wait $other || { refused=$((refused + 1)); echo said$attempt >>wrote; }
done
[ -n "$refused" ] || skip "eight recordings of one user have room here"
while read -r said; do
	expect_match "message" "$(cat "$said")" "^culprit: cannot map a perf ring of [0-9]+ pages on CPU [0-9]+: this user's other recordings hold what his rings may have; end one, or raise kernel.perf_event_mlock_kb \([0-9]+ now\) or ulimit -l\$"
done <wrote
expect_status 0 wait $first
expect_equal "files" "$(ls other?.prof 2>/dev/null | wc -l)" $((8 - refused))
expect_between "samples of the first" "$(samples first.prof 11 busy)" 500 5000

# With room again, it works again.
expect_status 0 user ./culprit record --quiet -e cpu-clock:u -F 1000 -o again.prof -- ./busy split 0.2
