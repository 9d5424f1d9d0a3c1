. "$SOURCE/tests/lib.sh"
# what leaves comes back: import and export again give the same bytes
"$TOOLS/make-code-profile" x86 one.prof
culprit export -e cpu-clock one.prof >one
culprit import -q one -o two.prof
culprit export two.prof -q >two
cmp one two
# other people's text comes back sorted and merged, escapes, blanks and odd names included
printf '%s\n' 'b;c;%3B;%253B 3' 'a;x y;<T as U<V, W>>::f 7' ';; 2' 'a;x y;<T as U<V, W>>::f 5' \
	'100%;%20 1' >odd
culprit import -q odd -o odd.prof
culprit export -q odd.prof
# and straight from the text, without a profile between
culprit export -q odd | cmp - odd.folded 2>/dev/null || culprit export -q odd >again
culprit export -q odd.prof | cmp - again
