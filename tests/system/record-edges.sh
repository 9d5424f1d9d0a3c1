# Samples that are interpreted forward tell where branches of known patterns went.
# beside others
. "$SOURCE/tests/lib.sh"
need_cpu_sampling
LOOPS=500000000 # for shares; a part of it where samples are only counted
culprit record --quiet --edges -e cpu-clock -o probe.prof -- true 2>probe.err ||
	! grep -q 'cannot be interpreted' probe.err || skip "$(cat probe.err)"

# Every sample of user code is in one item of the bill.
expect_whole_bill() {
	expect_equal "samples of the bill of interpreting" \
		"$(bill edges.prof 'interpreted|interpret_(thinned|unfit|lost)')" "$(bill edges.prof stored)"
	expect_equal "ends of paths" "$(bill edges.prof 'interpret_end_.*')" "$(bill edges.prof interpreted)"
	expect_equal "branches of the bill" "$(bill edges.prof interpret_outcomes)" \
		"$(awk -F '\t' '$1 == "edge" { n += $4 } END { print n + 0 }' cells)"
	culprit check edges.prof >/dev/null
}

# By default where a command is watched by a clock.
culprit record --quiet -u -e cpu-clock -F 1500 -o edges.prof -- "$KERNELS/branches" $LOOPS
"$TOOLS/cells" edges.prof >cells
expect_between "branches seen" "$(bill edges.prof interpret_outcomes)" 2000 100000
expect_branch_shares 3 0.05 by_counter 0.75 0.25
expect_branch_shares 3 0.05 by_table 0.625 0.375
expect_branch_shares 3 0.05 by_jump 0.25 0.25 0.25 0.25
expect_equal "functions with branches" \
	"$(awk -F '\t' '$1 == "edge" && $8 ~ /^by_/ { print $8 }' cells | sort -u | tr '\n' ' ')" \
	"by_counter by_jump by_table "
expect_whole_bill
expect_equal "samples lost by failures" "$(bill edges.prof interpret_lost)" 0
culprit report edges.prof >report
expect_match "report" "$(cat report)" '^branches .* seen by interpreting .* samples of user code onwards'
expect_between "samples interpreted, in JSON" \
	"$(culprit report --json edges.prof | jq '.events[0].bill.interpreted.samples')" 100 10000

# Rows add up when profiles are merged, in either order.
mv edges.prof one.prof
culprit record --quiet -u -e cpu-clock -F 1500 -o two.prof -- "$KERNELS/branches" $((LOOPS / 10))
culprit db merge edges.prof one.prof two.prof
culprit db merge other.prof two.prof one.prof
cmp edges.prof other.prof || fail "the order of merging shows"
"$TOOLS/cells" edges.prof >cells
expect_whole_bill
expect_equal "branches of both" "$(bill edges.prof interpret_outcomes)" \
	"$(($(bill one.prof interpret_outcomes) + $(bill two.prof interpret_outcomes)))"

# A rate that leaves no time for it: thinned. (What it may cost is tested without a clock, in
# tests/unit/collect/test_edges_helpers.c.)
culprit record --quiet -u -e cpu-clock -F 20000 -o edges.prof -- "$KERNELS/branches" $((LOOPS / 5))
"$TOOLS/cells" edges.prof >cells
expect_whole_bill
expect_between "samples left out" "$(bill edges.prof interpret_thinned)" 1000 100000

# Neither of the whole machine nor with --no-edges; asked for, of any.
culprit record --quiet --no-edges -F 1500 -o none.prof -- "$KERNELS/branches" 50000000
expect_equal "lines of interpreting" "$("$TOOLS/cells" none.prof | grep -c '^bill.*interpret\|^edge')" 0
culprit record --quiet -a -F 1500 -o none.prof -- "$KERNELS/branches" 50000000
expect_equal "lines of interpreting" "$("$TOOLS/cells" none.prof | grep -c '^bill.*interpret\|^edge')" 0
culprit record --quiet -a --edges -F 1500 -o all.prof -- "$KERNELS/branches" $((LOOPS / 5))
expect_between "branches of all" "$(bill all.prof interpret_outcomes)" 100 1000000
