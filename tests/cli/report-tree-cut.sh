"$TOOLS/make-profile" stacks p
culprit report p --tree --min 26 --limit 0 | sed -n "/total %/,/^$/p"
culprit report p --tree --limit 4 | sed -n "/total %/,/^$/p"
