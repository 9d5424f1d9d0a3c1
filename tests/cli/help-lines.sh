# no line of any --help is longer than 80 columns, ends in a space, or ends in half a word
culprit --help >overview
verbs=$(awk '/^  [a-z]/ { print $1 }' overview)
for verb in $verbs; do culprit "$verb" --help >"$verb"; done
awk 'length($0) > 80 { print FILENAME ": " $0 }
	/ $/ { print FILENAME ": ends in a space: " $0 }' overview $verbs
# every format that export knows, and every colour that flame does, is there as a whole word
"$TOOLS/make-profile" clock p
named() { # FILE, then what refusing a choice says of the others
	grep -oE '(are:|knows) .*[;'"'"']' | sed "s/.*are: //; s/.*knows //; s/, not.*//; s/;.*//" |
		sed 's/ and /, /' | tr -d ' ' | tr ',' '\n' >known
	wc -l <known
	while read -r word; do
		grep -qE -- "(^|[ |])$word([ |]|\$)" "$1" || echo "$1 does not name $word"
	done <known
}
culprit export -f nonsense p 2>&1 | named export
culprit flame --color nonsense p 2>&1 | named flame
sed -n '/--format/,/what to write/p' export
sed -n '/--color/,/where/p' flame
sed -n 3,4p accuracy
