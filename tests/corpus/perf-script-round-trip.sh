. "$SOURCE/tests/lib.sh"
# Imported and exported as perf script's text, recordings have the same stacks with the same
# estimates. A block then is a stack, not a sample, so from there on the text is the same, byte by byte.
# beside others
corpus="$SOURCE/../shared/corpus"
[ -d "$corpus/perfscript" ] || skip "no folder with outside recordings"

stacks() {
	sed -n 's/^# event : name = \([^ ]*\), .*/\1/p; s/.*: *[0-9]* \([^ ]*\): *$/\1/p' once |
		sort -u | while read -r event; do
		echo "event $event"
		culprit export -q --all --tid --event "$event" "$1"
	done
}

checked=0
for file in "$corpus"/perfscript/*; do
	name=$(basename "$file")
	culprit import -q "$file" -o first.prof
	culprit export -q --format perf-script first.prof >once
	culprit import -q once -o second.prof 2>message || fail "$name: $(cat message)"
	[ -s message ] && fail "$name: $(cat message)"
	culprit export -q --format perf-script second.prof >twice
	culprit import -q twice -o third.prof
	culprit export -q --format perf-script third.prof | cmp -s - twice ||
		fail "$name: read again, its text is another"
	stacks first.prof >first
	stacks second.prof >second
	sed -i "s,^swapper-0/0;,swapper-?/0;," second # of one number alone, the PID is not known
	cmp -s first second || fail "$name: $(diff first second | head -4)"
	[ "$(wc -l <first)" -gt 1 ] || fail "$name: nothing was compared"
	checked=$((checked + 1))
done
echo "$checked files"
[ $checked -gt 10 ] || fail "only $checked files were there"
