"$TOOLS/make-profile" stacks p
culprit report p --tree
