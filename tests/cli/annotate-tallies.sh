# The rows, and the lines, of every procedure add up to the procedure exactly.
"$TOOLS/make-code-profile" x86 x86.prof
"$TOOLS/make-code-profile" large large.prof
for profile in x86.prof large.prof; do
	culprit annotate --limit 0 --json -i $profile -q | jq -r '.procedures[] |
		[.name, (.counts | length)] + [range(.counts | length) as $c |
		[.counts[$c].samples, .counts[$c].estimate],
		[([.rows[].counts[$c].samples] | add), ([.rows[].counts[$c].estimate] | add)],
		[([.lines[].counts[$c].samples] | add), ([.lines[].counts[$c].estimate] | add)]] | tostring'
done
