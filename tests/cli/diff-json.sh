"$TOOLS/make-profile" build-before a
"$TOOLS/make-profile" build-after b
culprit diff a b --json --limit 2 --fail-above 10 || echo "status $?"
