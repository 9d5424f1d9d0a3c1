# Runs that did not count an event say nothing of it: they are left out of its figures, whoever adds
# runs up, and are no zeros.
callgrind() { # FILE EVENTS COST... TOTAL
	printf 'version: 1\ncreator: callgrind-3.19.0\nevents: %s\nfn=work\n1 %s\nfn=rest\n2 %s\nfn=few\n3 %s\ntotals: %s\n' "$2" "$3" "$4" "$5" "$6" >"$1"
}
for run in a1 a2 b1; do
	callgrind $run.callgrind 'Ir Dr' '9000 900' '1000 100' '5 1' '10005 1001'
done
callgrind b2.callgrind Ir 9000 1000 5 10005
diff() { culprit diff --stash-only "$@" | sed -n '/^compared/,$p'; }
diff a1.callgrind a2.callgrind -- b1.callgrind b2.callgrind -e Dr
for per in raw total Ir; do
	echo "per $per"
	culprit diff --json --per $per a1.callgrind a2.callgrind -- b1.callgrind b2.callgrind >out.json
	python3 - <<'END'
import json

d = json.load(open("out.json"))
for event in d["events"]:
    total = event["total"]
    print(event["after_name"], event["before_runs"], event["after_runs"], total["change"])
print([note for note in d["notes"] if "did not count" in note], d["splits"])
END
done
culprit diff --per rest a1.callgrind a2.callgrind -- b1.callgrind b2.callgrind || echo "status $?"
culprit diff --per rest -e Ir a1.callgrind a2.callgrind -- b1.callgrind b2.callgrind | grep '^compared'
echo
echo "and of the graph"
culprit flame --diff a1.callgrind a2.callgrind -- b1.callgrind b2.callgrind --event Dr |
	sed -n 's/.*<title>\(\(work\|rest\|few\):.*before.*after.*\)<.title>.*/\1/p'
echo
echo "spread: N is 3 of 4, and what is small in all three is left out"
culprit spread --min 1 -e Dr a1.callgrind a2.callgrind b1.callgrind b2.callgrind | sed -n '/^runs/,/^\*/p'
