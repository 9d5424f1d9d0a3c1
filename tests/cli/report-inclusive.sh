"$TOOLS/make-profile" stacks p
# a procedure that calls itself counts once a stack
culprit report p --inclusive
