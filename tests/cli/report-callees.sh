"$TOOLS/make-profile" stacks p
culprit report p --callees walk | sed -n "/total %/,/^$/p"
culprit report p --callees eval | sed -n "/total %/,/^$/p"
