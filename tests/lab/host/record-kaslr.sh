# Two boots with the kernel at different addresses give one row per procedure of the kernel
# and of each module.
. "$LIB"
[ -s "$OUT/exact/kaslr.prof" ] && [ -s "$OUT/again/kaslr.prof" ] || fail "a boot left no profile"
if cmp -s "$OUT/exact/kaslr.base" "$OUT/again/kaslr.base"; then
	echo "both boots have the kernel at one address"
	exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$CULPRIT" db merge "$work/merged.prof" "$OUT/exact/kaslr.prof" "$OUT/again/kaslr.prof"
for part in "$OUT/exact/kaslr.prof" "$OUT/again/kaslr.prof" "$work/merged.prof"; do
	"$TOOLS/cells" "$part" | awk -F '\t' '$1 == "cell" && ($3 == "kernel" || $3 == "module") {
		print $3, $4, $8, $10 }' | sort -u >"$work/rows"
	images=$(cut -d ' ' -f 1,2 "$work/rows" | sort -u | wc -l)
	echo "$part: $(wc -l <"$work/rows") procedures in $images images"
	expect_equal "images called the kernel in $part" "$(grep -c . <<END
$(grep '^kernel' "$work/rows" | cut -d ' ' -f 2 | sort -u)
END
)" 1
	cp "$work/rows" "$work/rows.$(basename "$(dirname "$part")")"
done
# The merged rows are exactly the rows of either boot.
sort -u "$work"/rows.exact "$work"/rows.again >"$work/wanted"
cmp "$work/wanted" "$work/rows" || fail "the merged procedures are not those of the two boots"
both=$(sort "$work"/rows.exact "$work"/rows.again | uniq -d | wc -l)
expect_between "procedures that both boots have" "$both" 20 100000
kernel=$(sort "$work"/rows.exact "$work"/rows.again | uniq -d | grep -c '^module' || true)
expect_between "procedures of modules that both boots have" "$kernel" 1 100000
