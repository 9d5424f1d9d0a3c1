# What culprit recorded of a group, and what it imports of perf's recording of the same group in the same
# seconds, agree: cycles by row, frame and stack, and what the other member counted there.
. "$LIB"
[ -d "$OUT/exact/both" ] || fail "the boot left nothing to compare"
compare=$PWD/tests/soak/compare-folded.py
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
for side in live imported; do
	# What is idle, or beginning and ending around perf, is in one of them only.
	for event in cycles instructions; do
		grep -avE '^(swapper|sh|perf|culprit-open);' "$OUT/exact/both/$side-$event.ns" >$side-$event.ns
		grep -avE '^(swapper|sh|perf|culprit-open);' "$OUT/exact/both/$side-cycles.samples" >$side-$event.samples
	done
done
for event in cycles instructions; do
	echo "$event"
	python3 "$compare" --same-period live-$event imported-$event || fail "$event disagree"
	# The comparison can tell when they do not.
	python3 "$compare" --spoil live-$event imported-$event >spoiled && fail "spoiled $event agree, too: $(cat spoiled)"
done
true
