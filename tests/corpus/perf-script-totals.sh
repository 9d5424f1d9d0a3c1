. "$SOURCE/tests/lib.sh"
# What perf script printed of a recording, imported, against the recording itself: the same events,
# samples and totals. What perf makes up while printing is not in the recording: branches and packets
# decoded from a processor trace, and samples of group members, which only counted along.
# beside others
need_command python3
corpus="$SOURCE/../shared/corpus"
[ -d "$corpus/expected/perf" ] || skip "no folder with outside recordings"

cat >totals.py <<'END'
import json, re, subprocess, sys

def events(path):
    report = json.loads(subprocess.run(["culprit", "report", "--json", path], check=True, capture_output=True).stdout)
    # perf and simpleperf spell modifiers differently
    return {re.sub(":[a-zA-Z]+$", "", event["name"]): (event.get("total_samples"), event.get("total")) for event in report["events"]}

text, data = events(sys.argv[1]), events(sys.argv[2])
for name, (samples, total) in data.items():
    if not total:
        continue
    # simpleperf calls cycles cpu-cycles
    found = name if name in text else next((other for other in text if text[other] == (samples, total)), None)
    if not found or text[found][1] != total or samples not in (None, text[found][0]):
        sys.exit(f"{name}: {text.get(name)} in the text, {(samples, total)} in the recording")
    del text[found]
for name, found in text.items():
    if found[0] and name not in ("branches", "cbr", "psb"):
        sys.exit(f"{name}: {found} in the text only")
END

compared=0
for text in "$corpus"/expected/perf/*.script.txt*; do
	name=$(basename "$text" .gz)
	name=${name%.script.txt}
	data=$corpus/perfdata/$(printf %s "$name" | sed 's,__,/,g')
	culprit import -q --force "$data" -o data.prof 2>message || {
		echo "$name: $(tail -n 1 message)"
		continue
	}
	culprit import -q "$text" -o text.prof 2>message || fail "$name: $(cat message)"
	python3 totals.py text.prof data.prof || fail "$name"
	compared=$((compared + 1))
done
echo "$compared recordings"
[ $compared -gt 30 ] || fail "only $compared recordings were there"
