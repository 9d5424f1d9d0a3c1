# one file, two of its events
"$TOOLS/make-profile" build-before a
culprit diff a -e cycles -e instructions | sed -n '/^compared/,$p'
culprit diff a | sed -n '/^but/p'
