. "$SOURCE/tests/lib.sh"
# Other tools' folded files: imported and exported they are the same lines, merged and sorted;
# exported, imported and exported again they are the same bytes.
# beside others
corpus="$SOURCE/../shared/corpus"
[ -d "$corpus/folded" ] || skip "no folder with outside recordings"

# frames COUNT with equal stacks added up, decimals without needless zeros
merged() {
	tr -d '\r' <"$1" | awk '
		/^[#]/ && !/ [0-9]+([.][0-9]*)?$/ { next }
		match($0, /[ \t][0-9]+([.][0-9]*)?$/) {
			stack = substr($0, 1, RSTART - 1)
			sum[stack] += substr($0, RSTART + 1)
		}
		END { for (stack in sum) printf "%s %.9f\n", stack, sum[stack] }' |
		sed -E 's/(\.[0-9]*[1-9])0+$/\1/; s/\.0+$//' | LC_ALL=C sort
}

checked=0
for file in "$corpus"/folded/*.txt "$corpus"/diff/*.txt "$corpus"/expected/perf/*.folded \
	"$corpus"/expected/stackcollapse-perf/*; do
	[ -s "$file" ] || continue
	case $file in
	*.gz) gzip -dc "$file" >plain ;;
	*utf16-be*) iconv -f UTF-16 -t UTF-8 "$file" >plain ;;
	*) cat "$file" >plain ;;
	esac
	if ! culprit import -q --one-count --format folded "$file" -o one.prof 2>message; then
		grep -q 'no line is folded text' message || fail "$file: $(cat message)"
		continue
	fi
	culprit export -q one.prof >one
	merged plain >wanted
	LC_ALL=C sort one >sorted
	cmp -s sorted wanted || fail "$file: $(diff wanted sorted | head -4)"
	culprit import -q --one-count one -o two.prof
	culprit export -q two.prof >two
	cmp one two || fail "$file: exported, imported and exported it is not the same"
	checked=$((checked + 1))
done

# two counts a line: two events, whose totals are the sums of the columns
two_columns() {
	tr -d '\r' <"$1" | awk '
		match($0, / [0-9.]+ [0-9.]+$/) {
			split(substr($0, RSTART + 1), counts, " ")
			stack = substr($0, 1, RSTART - 1)
			before[stack] += counts[1]
			after[stack] += counts[2]
		}
		END { for (stack in after) printf "%s %.9f %.9f\n", stack, before[stack], after[stack] }' |
		sed -E ':a; s/(\.[0-9]*[1-9])0+( |$)/\1\2/; ta; s/\.0+( |$)/\1/g' | LC_ALL=C sort
}

pairs=0
for file in "$corpus"/diff/*diff.txt "$corpus"/expected/difffolded/*.txt*; do
	case $file in
	*.gz) gzip -dc "$file" >plain ;;
	*) cat "$file" >plain ;;
	esac
	culprit import -q "$file" -o two.prof || fail "$file is not taken"
	culprit export -q --event before --event after two.prof >ours
	two_columns plain >wanted
	LC_ALL=C sort ours | cmp -s - wanted ||
		fail "$file: $(LC_ALL=C sort ours | diff wanted - | head -4)"
	culprit import -q ours -o again.prof
	culprit export -q --event before --event after again.prof | cmp -s - ours ||
		fail "$file: exported, imported and exported it is not the same"
	pairs=$((pairs + 1))
done
echo "$checked files, $pairs of two columns"
[ $pairs -gt 5 ] || fail "only $pairs of two columns were there"
[ $checked -gt 20 ] || fail "only $checked files were there"
