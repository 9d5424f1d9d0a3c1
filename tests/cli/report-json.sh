"$TOOLS/make-profile" group p
culprit report p --json
