"$TOOLS/make-code-profile" x86 culprit.prof
culprit export -e cpu-clock
culprit export -e cpu-clock --samples --all --pid
culprit export -e cpu-clock --samples --inline --no-comm -o stacks
cat stacks
# no stacks were kept of this event
culprit export -e cycles
