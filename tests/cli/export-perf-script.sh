# A block a stack and event, of which other tools make the same stacks and weights; and a block a
# sample, for readers that count blocks.
"$TOOLS/make-code-profile" x86 culprit.prof
culprit export -f perf-script --inline
culprit export -q -f firefox -e cpu-clock >samples
grep -c cpu-clock: samples
head -n 12 samples
# periods add up to the estimates, whatever the blocks
for format in perf-script firefox; do
	culprit export -q -f $format -e cpu-clock | awk '/cpu-clock:/ { sum += $4 } END { print sum }'
done
printf '%s\n' 'a b;c+0x10;d (e) 1.5' 'a b 0' >stacks
culprit export -q -f perf-script stacks
culprit export -q -f firefox stacks | grep -c samples:
