# what is taken as constant: chosen, or as the recordings tell
"$TOOLS/make-profile" watch-before a
"$TOOLS/make-profile" watch-after b
"$TOOLS/make-profile" build-before c
"$TOOLS/make-profile" build-after d
culprit diff a b
for per in raw total second cpu-clock tick serve; do
	echo "== --per $per"
	culprit diff a b --per "$per" --limit 3 | sed -n '/^compared/,/^\*  *sig/p'
done
echo '== --per instructions'
culprit diff c d --per instructions --limit 3 | sed -n '/^compared/p; /^total/p'
culprit diff a b --inclusive | sed -n '/^compared/,$p'
culprit diff a b --by process,image | sed -n '/^ .*before s/,/^$/p'
culprit diff a b --by cgroup --focus serve | sed -n '/^ .*before s/,/^$/p'
