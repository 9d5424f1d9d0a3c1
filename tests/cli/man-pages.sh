# Each verb has a man page that describes each of its options, and no page
# describes an option that does not exist.
pages=$SOURCE/docs/man
culprit --help | sed -n 's/^  \([a-z][a-z]*\)  *.*/\1/p' >verbs
[ -s verbs ]
while read -r verb; do
	page=$pages/culprit-$verb.1.scd
	[ -e "$page" ] || { echo "no page docs/man/culprit-$verb.1.scd"; continue; }
	# "  -o, --output FILE" and "      --json"; what verbs have by themselves is in culprit(1)
	culprit "$verb" --help | sed -nE 's/^  (-., |    )--([a-z0-9-]+).*/\1 \2/p' | tr -d , >options
	grep -vE '(^| )(quiet|help|no-pager)$' options >own || true
	# a paragraph of options starts with *-; it may name several
	grep '^\*-' "$page" >described || true
	while read -r first second; do
		name=${second:-$first}
		grep -Fq -- "*--$name*" described || echo "culprit-$verb.1.scd: --$name is not described"
		[ -z "$second" ] || grep -Fq -- "*$first*, *--$name*" described ||
			echo "culprit-$verb.1.scd: --$name has a letter, $first"
	done <own
	grep -oE '\*--[a-z0-9-]+\*' described | tr -d '*' | while read -r name; do
		grep -Eq "( |^)${name#--}\$" options || echo "culprit-$verb.1.scd: there is no $name"
	done
done <verbs
