# A sound file, one with a flipped byte, one cut short, a rest that is saved.
printf 'main;work;inner 10\nmain;work 5\nmain;idle 7\n' | culprit import -q -o sound.prof /dev/stdin
culprit check sound.prof
cp sound.prof flipped.prof
at=$(grep -abo inner flipped.prof | tail -n 1 | cut -d: -f1)
printf X | dd of=flipped.prof bs=1 seek="$at" conv=notrunc status=none
for file in flipped.prof; do
	status=0
	culprit check --save rest.prof "$file" || status=$?
	echo "status $status"
done
culprit check rest.prof
status=0
culprit db merge out.prof flipped.prof || status=$?
echo "status $status"
[ ! -e out.prof ]
# pages past a cut are told one a line, without SQLite's headings
seq 20000 | sed 's/.*/main;f&x&;g& &/' | culprit import -q -o large.prof -
head -c -8192 large.prof >cut.prof
culprit check cut.prof >cut.txt || echo "status $?"
grep -q '^cut.prof: pages: .*never used' cut.txt
grep -F '***' cut.txt || echo "no headings"
