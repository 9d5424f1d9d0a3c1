# A daemon of one machine that was booted twice: its epochs, brought together, are one profile, in which
# nothing is missing and nothing is counted twice.
. "$LIB"
for boot in slow double; do
	[ -d "$OUT/$boot/db" ] || fail "the boot $boot left no database"
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r "$OUT/slow/db" "$work/db"
"$CULPRIT" db copy "$OUT/double/db" "$work/db"
"$CULPRIT" check "$work/db"
stored=0
for boot in slow double; do
	"$CULPRIT" db merge "$work/$boot.prof" "$OUT/$boot/db"
	epochs=$(find "$OUT/$boot/db" -name '*.prof' | wc -l)
	echo "$boot: $epochs epochs, $(bill "$work/$boot.prof" stored) samples"
	stored=$((stored + $(bill "$work/$boot.prof" stored)))
done
"$CULPRIT" db merge "$work/all.prof" "$work/db"
expect_equal "samples of both boots" "$(bill "$work/all.prof" stored)" $stored
expect_between "samples" $stored 1000 10000000
hosts=$("$CULPRIT" db list --json "$work/db" | sed -n 's/^ *"host":"\(.*\)",$/\1/p' | sort -u)
expect_equal "hosts" "$(echo "$hosts" | wc -l)" 1
"$CULPRIT" report --by procedure "$work/all.prof" | head -20
