# A sum that stops at 64 bits is no whole to take shares of: it is refused, and said of what.
for i in 1 2 3; do
	echo "main;f$i 9223372036854775800" > "$i.folded"
	culprit import -q -o "$i.prof" "$i.folded"
done
echo 'main;f 18446744073709551614' > most.folded
culprit report 1.folded 2.folded
expect() {
	status=$1
	shift
	echo "\$ $*"
	found=0
	"$@" || found=$?
	[ "$found" = "$status" ] || echo "exit status $found"
}
exec 2>&1
expect 1 culprit report 1.folded 2.folded 3.folded
expect 1 culprit report --json 1.prof 2.prof 3.prof
expect 1 culprit flame -o out.svg 1.folded most.folded
expect 0 culprit diff 1.prof 2.prof
echo 'main;f 0.5' > half.folded
expect 1 culprit diff most.folded half.folded
mkdir -p db/web1 db/web2
cp 1.prof db/web1/20260101T000000Z.prof
cp 2.prof db/web1/20260102T000000Z.prof
cp 3.prof db/web2/20260101T000000Z.prof
expect 1 culprit report db
expect 0 culprit report --host web1 db
expect 0 culprit db merge two.prof 1.prof 2.prof
expect 1 culprit db merge three.prof two.prof 3.prof
ls
