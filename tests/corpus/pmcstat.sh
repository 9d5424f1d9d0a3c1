. "$SOURCE/tests/lib.sh"
# Call chains of pmcstat -G. stackcollapse-pmc.pl adds all counters up and leaves out the chains
# that end above a printed caller; so its stacks are looked for one by one, and the totals are those
# of the headings.
# beside others
corpus="$SOURCE/../shared/corpus"
[ -d "$corpus/pmcstat" ] || skip "no folder with outside recordings"

for file in "$corpus"/pmcstat/*.txt; do
	name=$(basename "$file" .txt)
	culprit import -q "$file" -o one.prof 2>message
	: >all
	sed -n 's/^@ \(.*\) \[[0-9]* samples\].*/\1/p' "$file" | sort -u >events
	while read -r event; do
		culprit export -q --event "$event" one.prof >stacks
		cat stacks >>all
		culprit report --json --event "$event" one.prof >report.json
		total=$(tr -d '\r' <"$file" | awk -v event="$event" '$1 == "@" && $2 == event {
			sum += substr($3, 2) } END { print sum }')
		grep -q "\"total_samples\": *$total," report.json ||
			fail "$name: $event does not have $total samples"
	done <events
	while read -r stack; do
		grep -qxF "$stack" all || fail "$name: no '$stack'"
	done <"$corpus/expected/stackcollapse-pmc/$name.folded"
	echo "$name: $(wc -l <events) counters, $(wc -l <all) stacks"
done
