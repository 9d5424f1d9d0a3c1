"$TOOLS/make-profile" stacks p
# the outermost walk of a stack is the one that counts; hash is also seen without a stack
for procedure in walk hash; do
	culprit report p --callers $procedure | sed -n "/total %/,/^$/p"
done
