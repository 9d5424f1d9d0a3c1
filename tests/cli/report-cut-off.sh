# Only PATH.open is left of a killed recording: what was merged is read, and said to be a part.
"$TOOLS/make-profile" stacks culprit.prof cut-off
ls
culprit report | sed -n '1,/^event/p; /cum %/,$p'
