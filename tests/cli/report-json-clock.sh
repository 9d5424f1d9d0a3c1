"$TOOLS/make-profile" clock p
culprit report p --json --limit 1
