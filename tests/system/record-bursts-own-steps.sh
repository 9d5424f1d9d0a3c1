# A program that single-steps itself gets each of its own traps while bursts step it in between.
. "$SOURCE/tests/lib.sh"
need_cpu_sampling
"$KERNELS/self_steps" 0.01 >alone || skip "$(cat alone)"

culprit record --quiet --bursts=50 --no-edges -F 2000 -o b.prof -- "$KERNELS/self_steps" 0.7 >traps 2>err ||
	fail "traps that came: $(cat traps err)"
cat traps
grep -q 'may not be traced' err && skip "$(cat err)"
expect_between "times that it was left alone" "$(bill b.prof burst_end_own_traps)" 10 100000
