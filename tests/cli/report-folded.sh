printf "main;read 3\nmain;parse;read 5\nmain 2\n" >stacks
# counts of another tool: no samples, so no intervals
culprit report stacks
culprit report - --tree <stacks | sed -n "/total %/,/^$/p"
