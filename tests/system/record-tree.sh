# Only the command's tree counts, whatever else runs; its children do, at every depth.
# beside others
. "$SOURCE/tests/lib.sh"
need_cpu_sampling

"$KERNELS/busy" split 30 &
other=$!
trap 'kill $other 2>/dev/null || true' EXIT
culprit record --quiet -F 2000 --per-process -- "$KERNELS/busy" tree 0.35
expect_equal "samples of the program beside" "$(samples culprit.prof 12 $other)" 0
expect_between "samples of the tree" $(($(samples culprit.prof 10 busy_one) + $(samples culprit.prof 10 busy_two))) 700 3000
processes=$("$TOOLS/cells" culprit.prof | awk -F '\t' '$1 == "cell" && $10 ~ /^busy_/ { print $12 }' | sort -u | wc -l)
expect_equal "processes that worked" "$processes" 2
# A host that takes the CPU away takes samples, but seldom three times.
for attempt in 1 2 3; do
	culprit record --quiet -e cpu-clock -c 500009 --per-process -o fixed.prof -- "$KERNELS/busy" tree 0.35
	[ "$(samples fixed.prof 11 busy)" -lt 1200 ] || break
done
expect_between "samples of the inherited tree" $(($(samples fixed.prof 10 busy_one) + $(samples fixed.prof 10 busy_two))) 1200 1700
expect_equal "samples of the program beside" "$(samples fixed.prof 12 $other)" 0
