# Where the kernel stops an event for its rate, both engines say how often, and none says so where it does not.
. "$SOURCE/tests/lib.sh"
need_root
need_command jq
need_recording system
need_kernel_counts
limit=/proc/sys/kernel/perf_event_max_sample_rate
before=$(cat $limit)
"$KERNELS/busy" split 60 &
busy=$!
trap 'kill $busy 2>/dev/null || true; restore_settings 2>/dev/null || true' EXIT
throttled() { # ENGINE PERIOD
	culprit record -a --engine $1 -e cpu-clock -c $2 --duration 1s -o $1.prof 2>said || fail "$1: $(cat said)"
	culprit report --json $1.prof | jq '.events[0].bill.throttled'
}
[ "$before" -ge 5000 ] || skip "kernel.perf_event_max_sample_rate is $before: the kernel has lowered it"
for engine in bpf ring; do
	expect_equal "times that 500 samples a second were stopped, $engine" "$(throttled $engine 2000000)" 0
	! grep -q "stopped events" said || fail "$engine: $(cat said)"
done
guard_setting $limit
echo 4000 >$limit 2>/dev/null || skip "kernel.perf_event_max_sample_rate cannot be set here"
for engine in bpf ring; do
	expect_between "times that 10,000 were stopped where 4,000 may be, $engine" "$(throttled $engine 100000)" 20 5000
	expect_match "what is said, $engine" "$(cat said)" "the kernel stopped events [0-9]+ times for their rate"
done
