# samples of instructions tell executions out of order too; by line CPI is weighted by them
"$TOOLS/make-code-profile" counted culprit.prof
culprit annotate compute
culprit annotate compute --source
culprit annotate compute --blocks --min 1
# a clock tells ns, and bounds what a cycle is
"$TOOLS/make-code-profile" clocked clocked.prof
culprit annotate compute -i clocked.prof --blocks
culprit annotate compute -i clocked.prof --min 10
# without an event of time executions are known, cycles are not
culprit annotate compute -e instructions
culprit annotate compute -e instructions --blocks
culprit annotate compute -e instructions --json | jq -c '.cycles, (.procedures[0].cycles | del(.blocks, .loops, .edges)), .procedures[0].cycles.blocks[1], .procedures[0].lines[0]'
