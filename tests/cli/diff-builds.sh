# two builds: matched by name, instructions and CPI apart, doubts, noise last
"$TOOLS/make-profile" build-before a
"$TOOLS/make-profile" build-after b
culprit diff a b
culprit diff a b --by image | sed -n '/^ .*before M/,/^$/p'
culprit diff a b -e instructions --min 20 | sed -n '/^total/,/^$/p'
culprit diff a b --limit 2 --sort after | sed -n '/^ .*before M/,/^$/p'
# the other way round the signs turn
culprit diff b a --limit 3 | sed -n '/^ .*before M/,/^$/p'
# nothing changed
culprit diff a a | sed -n '/^total/p; /^\*/p'
