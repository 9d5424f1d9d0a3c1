"$TOOLS/make-profile" contexts p
for part in process thread cpu cgroup process,cpu image; do
	echo "== $part"
	culprit report p --by $part | sed -n "/cum %/,/^$/p"
done
