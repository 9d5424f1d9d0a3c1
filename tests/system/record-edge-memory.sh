# A branch that depends on memory of the heap has outcomes where samples come with what their registers
# point to; without, only from a sample right before it, whose flags tell.
# beside others
. "$SOURCE/tests/lib.sh"
need_cpu_sampling
LOOPS=500000000
culprit record --edges -u -e cpu-clock -o probe.prof -- true 2>probe.err
! grep -q 'samples are interpreted without it' probe.err || skip "$(cat probe.err)"

# Lines of from, to, times.
branches() {
	"$TOOLS/cells" "$1" | awk -F '\t' '$1 == "edge" && $3 == 3 && $8 == "by_heap" { print $7, $11, $4 }' |
		sort
}
outcomes() {
	awk -v o="$(bill "$1" interpret_outcomes)" -v n="$(bill "$1" interpreted)" 'BEGIN { print o / n }'
}
culprit record --quiet -u -e cpu-clock -F 3000 -o with.prof -- "$KERNELS/branches" $LOOPS heap
culprit record --quiet -u --no-edge-memory -e cpu-clock -F 3000 -o without.prof -- \
	"$KERNELS/branches" $LOOPS heap
branches with.prof >with
expect_equal "branches seen" "$(awk '{ print $1 }' with | sort -u | wc -l)" 2
# taken 3 times in 8
set -- $(awk 'NR == 1 { first = $1 } $1 == first { print $3 }' with)
expect_equal "places that the first branch went to" $# 2
expect_between "its share" "$(awk -v a="$1" -v b="$2" 'BEGIN { print a / (a + b) }')" 0.575 0.675
# 30 instructions are five to six turns of two branches
expect_between "branches a sample" "$(outcomes with.prof)" 8 13
# two at most, where samples stand right before the first; samples of the program's start may tell more
expect_between "branches a sample without" "$(outcomes without.prof)" 0 2.05
