# one file, two of its events
"$TOOLS/make-profile" build-before a
culprit diff a -e cycles -e instructions | sed -n '/^compared/,$p'
culprit diff a | sed -n '/^but/p'
# folded text with two counts a line, as VT200's article has them
printf 'main;pixel 315804 199904\nmain;other 800096 800096\n' >two
culprit diff two | sed -n '/^compared/,/^?   /p'
printf 'main;pixel 100\n' >one
culprit diff two one -e before -e samples | sed -n '/^total/p; /^but/p'
# they are named by patterns, each of one event
culprit diff two -e 'a*' -e before | sed -n '/^total/p; /^but/p'
set -f
for names in '-e before' '-e before -e after -e both' '-e * -e after' '-e other -e after'; do
	culprit diff two $names 2>&1 || echo "status $?"
done
