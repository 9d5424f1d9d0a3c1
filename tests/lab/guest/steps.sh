# boots: plain
# Single steps and execution breakpoints on arm64: branches of known patterns, exact counts.
. "$LIB"
# Where the machine that emulates this one does something else, the program may be over before a burst.
for turns in 6000000 20000000 60000000; do
	culprit record --quiet --bursts=50 --no-edges -e cpu-clock -u -F 500 -o b.prof -- "$KERNELS/branches" $turns 2>err ||
		skip "$(cat err)"
	[ "$(bill b.prof bursts)" = 0 ] || break
done
"$TOOLS/cells" b.prof >cells
# The first branch of by_jump: its four targets come in turn, whatever the number of turns that were seen.
awk -F '\t' '$1 == "edge" && $3 == 4 && $8 == "by_jump" { print $7, $11, $4 }' cells | sort >jumps
awk 'NR == 1 { from = $1 }
	$1 == from { places++; low = places == 1 || $3 < low ? $3 : low; high = $3 > high ? $3 : high }
	END { if (from && (places != 4 || high > low + 2 * bursts)) exit 1 }' bursts="$(bill b.prof bursts)" jumps ||
	fail "branches of by_jump, $(bill b.prof bursts) bursts: $(cat jumps)"
expect_between "bursts" "$(bill b.prof bursts)" 1 10000
expect_between "branches" "$(grep -c '^edge.*by_' cells)" 1 100
culprit check b.prof >/dev/null

executions() {
	awk -v place="$1" '$NF == place { print $1 }' out
}
culprit accuracy --probe by_counter --probe by_counter+0x8 --probe main -- "$KERNELS/branches" 2000 >out
expect_equal "executions of the loop" "$(executions by_counter)" 2000
expect_equal "executions of the rare block" "$(executions by_counter+0x8)" 1500
expect_equal "executions of main" "$(executions main)" 1
culprit accuracy --probe by_counter+0x8 --limit 1000 -- "$KERNELS/branches" 200000 >out 2>err
expect_match "limit" "$(cat out)" '^ *>[0-9]+  branches'
