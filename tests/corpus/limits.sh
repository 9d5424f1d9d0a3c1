. "$SOURCE/tests/lib.sh"
# Every real recording is read within the usual limits (culprit-import(1), LIMITS), and shown, and
# written again: what one without limits makes of it comes out.
# beside others
corpus="$SOURCE/../shared/corpus"
[ -d "$corpus/perfdata" ] || skip "no folder with outside recordings"
count=0
find "$corpus" "$SOURCE/tests/data" -type f | sort >files
while read -r file; do
	culprit import -q --limits none -o free.prof "$file" 2>/dev/null || continue
	count=$((count + 1))
	culprit import -q -o new.prof "$file" 2>said || fail "$file: $(cat said)"
	cmp free.prof new.prof || fail "$file: another profile without limits"
	for verb in report "flame -o page.svg" "export -f json -o rows.json" annotate; do
		culprit $verb -q "$file" >/dev/null 2>said || ! grep -e --limits said || fail "$verb $file"
	done
done <files
[ "$count" -ge 250 ] || fail "only $count files were read"
echo "$count files"
