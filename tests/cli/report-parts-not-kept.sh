"$TOOLS/make-profile" clock p
for part in cpu thread line; do
	echo "== $part"
	culprit report p --by $part | sed -n "/cum %/,/^$/p; /^note/p"
done
