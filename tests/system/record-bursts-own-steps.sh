# A program that single-steps itself gets each of its own traps while bursts step it in between, and
# is left alone in its handler, where a trap more would end it (a run of seven, when it did).
. "$SOURCE/tests/lib.sh"
need_cpu_sampling
"$KERNELS/self_steps" 0.01 >alone || skip "$(cat alone)"

record() {
	local status=0
	culprit record --quiet --bursts=50 --no-edges -F 2000 -o "$1.prof" -- \
		"$KERNELS/self_steps" 0.4 >"$1.traps" 2>"$1.err" || status=$?
	echo $status >"$1.status"
}
# Several at once, so that who steps waits between looking and attaching.
for round in 1 2 3; do
	for run in 1 2 3 4 5 6; do
		record $run &
	done
	wait
	for run in 1 2 3 4 5 6; do
		! grep -q 'may not be traced' $run.err || skip "$(cat $run.err)"
		expect_equal "status in round $round: $(cat $run.traps $run.err)" \
			"$(cat $run.status)" 0
		expect_between "times that it was left alone" \
			"$(bill $run.prof burst_end_own_traps)" 1 100000
	done
done
cat 1.traps
