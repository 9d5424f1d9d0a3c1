"$TOOLS/make-profile" clock culprit.prof
# the default input and view: kernel and user, a late procedure, idle left out, a few samples
culprit report
