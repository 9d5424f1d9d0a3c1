"$TOOLS/make-code-profile" x86 culprit.prof
# lines as annotate --source has them; addresses where samples stand
culprit report --by line -e cpu-clock | sed -n '/^lines/p; /^cpu-clock/,/^$/p'
culprit report --by procedure,line -e cpu-clock --json | grep -A12 '"charged"'
culprit report --by address -e cpu-clock --limit 6 | sed -n '/^addresses/p; /^cpu-clock/,/^$/p'
culprit diff --by address culprit.prof culprit.prof || echo "($?)"
