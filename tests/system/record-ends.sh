# However a recording ends, its file is whole and its status right; two at once are no trouble.
# beside others
. "$SOURCE/tests/lib.sh"
need_cpu_sampling

whole() {
	[ -e "$1" ] && [ ! -e "$1.open" ] || fail "$1 was not completed"
	culprit check "$1" >check || fail "$(cat check)"
}
# wait_for FILE
wait_for() {
	for attempt in $(seq 500); do
		[ ! -e "$1" ] || return 0
		sleep 0.02
	done
	fail "no $1 after 10 s"
}
# A shell starts its background jobs with SIGINT ignored.
env --default-signal=INT true 2>/dev/null || skip "env knows no --default-signal"

# A process that ends by itself while we come, or before.
for attempt in 1 3 5; do
	"$KERNELS/busy" split 0.0$attempt &
	pid=$!
	status=0
	culprit record --quiet -F 500 -p $pid -o exits.prof 2>err || status=$?
	wait $pid
	case $status in
	0) whole exits.prof ;;
	1) expect_match "message" "$(cat err)" "^culprit: (there is no process $pid|all that was to be watched has ended)\$" ;;
	*) fail "status $status: $(cat err)" ;;
	esac
	rm -rf exits.prof*
done

# Two at once, in one folder.
for attempt in 1 2 3; do
	culprit record --quiet -F 500 -o one.prof -- "$KERNELS/busy" split 0.5 &
	other=$!
	culprit record --quiet -F 500 -o two.prof -- "$KERNELS/busy" split 0.5
	expect_status 0 wait $other
done
for name in one two; do
	whole $name.prof
	expect_between "samples of recording $name" "$(samples $name.prof 11 busy)" 100 500
done

# The command gets the signal too, and its end is the recording's.
for signal in INT:130 TERM:143; do
	rm -f ready
	env --default-signal=INT culprit record --quiet -F 500 -o signal.prof -- \
		sh -c 'echo >ready; exec "$KERNELS/busy" split 60' &
	pid=$!
	wait_for ready
	kill -${signal%:*} $pid
	expect_status ${signal#*:} wait $pid
	whole signal.prof
done
# Whoever starts us may ignore that children end: we do not, and the command's status is ours.
for bursts in "" --bursts; do
	expect_status 7 timeout 30 env --ignore-signal=CHLD culprit record --quiet -F 500 $bursts \
		-o ignored.prof -- sh -c '"$KERNELS/busy" split 0.1; exit 7'
	whole ignored.prof
done

# One that takes it and ends in order gives its own status.
rm -f ready
culprit record --quiet -F 500 -o trap.prof -- \
	sh -c 'trap "exit 5" TERM; echo >ready; while :; do sleep 0.02; done' &
pid=$!
wait_for ready
kill -TERM $pid
expect_status 5 wait $pid
whole trap.prof
# One that ignores it goes on, and the second time we end without it.
rm -f ready
env --default-signal=INT culprit record --quiet -F 500 -o twice.prof -- \
	sh -c 'trap "" INT; echo $$ >pid; mv pid ready; exec "$KERNELS/busy" split 60' &
pid=$!
wait_for ready
command=$(cat ready)
trap 'kill $command 2>/dev/null || true' EXIT
kill -INT $pid
sleep 0.1
kill -0 $pid || fail "one SIGINT ended the recording before its command"
# Two signals of one kind that wait are one.
wait_for_taken() { # PID
	for attempt in $(seq 500); do
		[ $((0x$(sed -n 's/^ShdPnd:[[:space:]]*//p' "/proc/$1/status") & 2)) != 0 ] || return 0
		sleep 0.02
	done
}
wait_for_taken $pid
kill -INT $pid
expect_status 0 wait $pid
kill -0 "$command" || fail "the command was ended"
whole twice.prof
expect_between "samples" "$(samples twice.prof)" 1 100000
