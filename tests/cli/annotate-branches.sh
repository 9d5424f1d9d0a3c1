# estimates from samples and from branches that were seen
"$TOOLS/make-code-profile" branched culprit.prof
culprit annotate compute --json |
	jq -c '.procedures[0].cycles | .branches_seen_unmatched, (.blocks, .edges | map(.executions.source))'
