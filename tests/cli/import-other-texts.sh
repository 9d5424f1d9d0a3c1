# Texts of other kinds, many of whose lines end in a number: each is refused, and named where its kind
# is known (tests/data/README.md).
for file in "$SOURCE"/tests/data/other-text/*.txt; do
	cp "$file" .
	name=$(basename "$file")
	culprit import -q "$name" -o out.prof 2>&1 && echo "not refused: $name"
done
culprit report pprof-top.txt 2>&1 || echo "status $?"
printf 'libfoo 12\nlibbar 7\nlibbaz 1 2 3\nmade 2024-01-01\n' >list.txt
culprit import list.txt -o list.prof 2>&1 || echo "status $?"
culprit import --format folded list.txt -o list.prof 2>&1
# the first 64 kB are folded text, the rest is none
{
	seq 1 4000 | sed 's/.*/main;work;step_& 1/'
	seq 1 20000 | sed 's/.*/2024-01-01 message number &/'
} >mixed.txt
culprit import mixed.txt -o mixed.prof 2>&1 || echo "status $?"
# what can't be told from folded text is said to be taken for it
printf 'read 5\nwrite 7\n' >names.txt
culprit import names.txt -o names.prof 2>&1
printf '\n \n\t\n' >blank.txt
culprit import blank.txt -o blank.prof 2>&1 || echo "status $?"
