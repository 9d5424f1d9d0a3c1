# One sampled profile an event, weights that add up to its end value.
"$TOOLS/make-code-profile" x86 culprit.prof
culprit export -f speedscope --inline
culprit export -q -f speedscope -e cpu-clock --no-comm | grep -c program || true
printf 'a;b 1.25\na 0\nc;"q"\\ 2\n' >stacks
culprit export -q -f speedscope stacks
