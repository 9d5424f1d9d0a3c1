# Events whose task has ended hang up: the collector goes on waiting instead of asking them again
# and again. Judged by its system calls, which the machine's speed does not change.
# beside others
. "$SOURCE/tests/lib.sh"
need_command strace
need_recording self

# calls FILE NAME: how often, in what strace -c wrote
calls() {
	awk -v name="$2" '$NF == name { sum += $4 } END { print sum + 0 }' "$1"
}
# watches PID: the program below it has its counters open, and what it waits with
watches() {
	for child in $(cat "/proc/$1/task/$1/children"); do
		ls -l "/proc/$child/fd" 2>/dev/null | grep -q timerfd && return 0
	done
	return 1
}
await_watching() { # PID
	until watches "$1"; do
		kill -0 "$1" || fail "nothing was recorded"
		sleep 0.01
	done
}
# At most 200 wake-ups a second by news about processes, ten by the timer.
mkfifo gate work
cat gate >/dev/null &
first=$!
sh -c 'read -r go <work; exec "$KERNELS/busy" split 1.5' &
second=$!
trap 'kill $first $second 2>/dev/null || true' EXIT
strace -c -o first-ends culprit record --quiet -F 200 -p $first,$second -o two.prof &
recorder=$!
await_watching $recorder
echo over >gate
echo go >work
wait $recorder
expect_between "samples of the second" "$(samples two.prof)" 100 1000
expect_between "polls after the first ended" "$(calls first-ends poll)" 10 1500

# A thread that has ended, but whose process nobody has waited for.
mkfifo worker
sh -c '{ read -r go <worker; exec "$KERNELS/busy" split 0.3; } & echo $! >pid; exec sleep 100' &
parent=$!
trap 'kill $first $second $parent 2>/dev/null || true' EXIT
while [ ! -s pid ]; do sleep 0.01; done
timeout 60 "$CULPRIT" record --quiet -F 100 -t "$(cat pid)" -o zombie.prof &
recorder=$!
await_watching $recorder
echo go >worker
wait $recorder ||
	fail "a thread that nobody waits for was never found ended"

[ "$(id -u)" = 0 ] || exit 0
need_command setpriv
make_open
cd open
cp busy as-root
chmod 4755 as-root
nobody() {
	setpriv --reuid 65534 --regid 65534 --clear-groups "$@"
}
nobody ./as-root split 0.1 2>/dev/null || skip "another user cannot run programs here"
[ "$(nobody sh -c './as-root split 60 & ps -o euid= -p $!; kill $!')" -eq 0 ] ||
	skip "programs are not run as their owner here (nosuid)"
[ "$(cat /proc/sys/kernel/perf_event_paranoid)" -ge 1 ] || skip "an ordinary user may watch whole CPUs here"
# The command's own system calls are not traced: it would not get its rights.
nobody strace -c -o setuid ./culprit record -F 100 -o setuid.prof -- ./as-root split 1 2>said
expect_between "polls beside a setuid program" "$(calls setuid poll)" 5 800
expect_match "what was said" "$(cat said)" \
	"no samples: the kernel does not let you sample setuid programs.*: 'as-root' and what they start .* as root"
! grep -q "did not run" said || fail "it ran: $(cat said)"
# Below a script too, where the others have samples.
nobody ./culprit record -F 1000 -o script.prof -- sh -c './busy split 0.3; ./as-root split 0.3' 2>said
expect_between "samples of the others" "$(samples script.prof 11 busy)" 100 1000
expect_equal "samples of the setuid program" "$(samples script.prof 11 as-root)" 0
expect_match "what was said" "$(cat said)" "'as-root'"
# A program that cannot be read is hidden likewise.
cp busy unreadable
chmod 4711 as-root
chmod 711 unreadable
nobody ./culprit record -F 1000 -o unreadable.prof -- ./unreadable split 0.3 2>said
expect_match "what was said" "$(cat said)" "'unreadable'"
# Programs that fail to start, or end at once, are not taken for such.
nobody ./culprit record -F 1000 -o none.prof -- sh -c 'for i in 1 2 3 4 5; do /bin/true; ./said; done; ./busy split 0.2' 2>said || true
! grep -q "not let you" said || fail "all could be sampled: $(cat said)"
# Root samples it as any other.
culprit record -F 1000 -o root.prof -- ./as-root split 0.3 2>said
expect_between "samples by root" "$(samples root.prof 11 as-root)" 100 1000
! grep -q "not let you" said || fail "root may: $(cat said)"
# Such an exec is not the end of a process: samples after what is kept of ended ones, two seconds,
# count too, else there would be a third of them. A host may take more of one CPU away than of another.
culprit record --quiet -F 200 -o rights.prof -- sh -c './busy split 6 &
	setpriv --reuid 65534 --regid 65534 --clear-groups ./as-root split 6; wait'
plain=$(samples rights.prof 11 busy)
expect_between "samples of a plain program in six seconds" "$plain" 450 1800
expect_between "those of the other, to them" \
	"$(ratio "$(estimate rights.prof 11 as-root)" "$(estimate rights.prof 11 busy)")" 0.5 2
