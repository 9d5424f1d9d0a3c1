"$TOOLS/make-profile" clock p
culprit report p --limit 2 | sed -n "/cum %/,/^$/p"
culprit report p --min 5 | sed -n "/cum %/,/^$/p"
