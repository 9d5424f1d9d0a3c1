# Long rows: flat and stack, samples absent where an event has none of its own.
"$TOOLS/make-code-profile" x86 culprit.prof
culprit export -f csv
culprit export -q -f csv -e cycles -o rows.csv
wc -l rows.csv
printf '%s\n' 'a,b;"q" 1.25' ' c 2' >stacks
culprit export -q -f csv stacks

# No frame begins a formula, also where a spreadsheet divides cells by ';'.
printf '%s\n' 'a;=b;+c 1' '-d;@e 2' "＝f;'g 3" 'h=i;j-k 4' >formulas
culprit export -q -f csv formulas
