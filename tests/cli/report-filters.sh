"$TOOLS/make-profile" clock p
for filter in "--process cc1 --image kernel" "--process m*" "--image 3fa911" "--cgroup /"; do
	echo "== $filter"
	(set -f; culprit report p $filter) | sed -n "/^percent/p; /cum %/,/^$/p"
done
"$TOOLS/make-profile" contexts q
for filter in "--cpu 1-2" "--process 101" "--cgroup /web"; do
	echo "== $filter"
	culprit report q $filter --by process,cpu | sed -n "/^percent/p; /cum %/,/^$/p"
done
