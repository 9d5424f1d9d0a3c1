# What cannot be drawn is said in one line.
printf "main;a 30\n" >stacks
for options in "--color cpi" "--color stalls" "--color a/b" "--color a/" "--color red" "-e cycles" "--scale 1:2" \
	"--scale gregg" "--width 10" "--min-width -1" "--color retiring" "--color delta" "--inverse-diff" "--diff nothing.prof" "--focus ["; do
	echo "$options:"
	culprit flame $options stacks 2>&1 || echo "status $?"
done
culprit flame -o folder/picture.svg stacks || echo "status $?"
