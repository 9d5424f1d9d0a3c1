# in order: the copy loop of Figure 2 of Anderson et al., SOSP 1997
"$TOOLS/make-code-profile" copy culprit.prof
culprit annotate copy
culprit annotate copy --blocks
culprit annotate copy --json | jq -c '.cycles, .procedures[0].cycles.loops, .procedures[0].cycles.edges[2],
	(.procedures[0].rows[] | select(.vaddr == "0x9828" or .vaddr == "0x982c"))'
# a clock: CPI is in cycles all the same, executions lack the GHz
"$TOOLS/make-code-profile" copy-clocked clocked.prof
culprit annotate copy -i clocked.prof --min 1
