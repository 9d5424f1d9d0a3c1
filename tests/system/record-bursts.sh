# Bursts of single steps tell where branches of known patterns went and what ran, at a price that is
# kept.
. "$SOURCE/tests/lib.sh"
need_cpu_sampling

culprit record --quiet --bursts=30 --no-edges -F 1500 -o b.prof -- "$KERNELS/branches" 600000000 2>err ||
	fail "$(cat err)"
grep -q 'may not be traced' err && skip "$(cat err)"
"$TOOLS/cells" b.prof >cells

expect_branch_shares 4 0.03 by_counter 0.75 0.25
expect_branch_shares 4 0.03 by_table 0.625 0.375
expect_branch_shares 4 0.03 by_jump 0.25 0.25 0.25 0.25

steps=$(bill b.prof steps)
expect_between "bursts" "$(bill b.prof bursts)" 5 2000
expect_between "steps of a burst" "$(ratio "$steps" "$(bill b.prof bursts)")" 100 200
expect_equal "ends of bursts" "$(bill b.prof 'burst_end_(done|unsafe|signal|gone|slow)')" \
	"$(($(bill b.prof bursts) + $(bill b.prof burst_end_gone)))"
# Runs hold every instruction that was stepped.
if [ "$(uname -m)" = aarch64 ]; then
	expect_equal "instructions in runs" "$(awk -F '\t' '$1 == "range" { n += $4 * ((strtonum($8) - strtonum($7)) / 4 + 1) }
		END { print n + 0 }' cells)" "$steps"
fi
expect_between "runs" "$(awk -F '\t' '$1 == "range" { n += $4 } END { print n + 0 }' cells)" \
	"$(bill b.prof bursts)" "$steps"
# The price: of the time that the program took; what is charged to it there is set aside.
elapsed=$(awk -F '\t' '$1 == "source" { print $3 }' cells)
expect_between "share of the time" "$(ratio "$(bill b.prof burst_ns)" "$elapsed")" 0.1 0.5
expect_between "samples set aside" "$(ratio "$(bill b.prof stepped)" "$(($(bill b.prof stored) + $(bill b.prof stepped)))")" 0.02 0.5
expect_equal "samples" "$(bill b.prof 'stored|filtered|stepped|lost_ring|lost_damaged')" "$(bill b.prof runs)"
culprit check b.prof >/dev/null
