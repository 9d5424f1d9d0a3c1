# The rows of csv as one document; what is not known is null.
"$TOOLS/make-code-profile" x86 culprit.prof
culprit export -q -f json -e cycles
printf '%s\n' 'a,b;"q"\ 1.25' 'c 2' >stacks
culprit export -q -f json stacks
culprit export -q -f json -e cpu-clock >one
culprit export -q -f json -e cpu-clock --inline >two
cmp one two | cut -d : -f 1
