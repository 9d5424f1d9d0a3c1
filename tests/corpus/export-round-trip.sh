. "$SOURCE/tests/lib.sh"
# What other tools' recordings become is the same in every format that it is written in: the text of
# perf script read again gives the same stacks, and the sums of all formats are those of the profile.
# beside others
need_command python3
corpus="$SOURCE/../shared/corpus"
[ -d "$corpus/perfdata" ] || skip "no folder with outside recordings"

cat >sums.py <<'END'
import csv, gzip, json, re, sys
from decimal import Decimal

# event: sum, of each format
def of_rows(rows):
    sums = {}
    for row in rows:
        if row["relation"] == "stack":
            sums[row["event"]] = sums.get(row["event"], 0) + Decimal(str(row["estimate"]))
    return sums

def of_speedscope(document):
    for profile in document["profiles"]:
        assert len(profile["samples"]) == len(profile["weights"])
        assert sum(Decimal(w) for w in profile["weights"]) == Decimal(profile["endValue"])
    return {p["name"]: Decimal(p["endValue"]) for p in document["profiles"]}

def of_perf_script(lines):
    sums = {}
    for line in lines:
        found = re.match(r"\S.* +\d+/\d+ .*[\d.]+: +(\d+) (\S+): $", line)
        if found:
            sums[found[2]] = sums.get(found[2], 0) + int(found[1])
    return sums

exact = dict(parse_float=str, parse_int=str)
wanted = of_rows(csv.DictReader(open("run.csv", errors="replace")))
got = {
    "json": of_rows(json.load(open("run.json"), **exact)["rows"]),
    "speedscope": of_speedscope(json.load(open("run.speedscope"), **exact)),
    "perf-script": of_perf_script(open("run.perf-script", errors="replace").read().split("\n")),
}
for event, total in wanted.items():
    for name, sums in got.items():
        spelled = event.replace(" ", "_") if name == "perf-script" else event
        if sums.get(spelled, 0) != total:
            sys.exit(f"{name}: {event} is {sums.get(spelled)}, not {total}")
for event in wanted:
    print(event)
END

# Code without names: what is [kernel] here is [kernel.kallsyms] for perf, and what was compiled at
# run time is known by its process's map.
folded() {
	culprit export -q --stash-only -e "$1" "$2" |
		sed 's/\[kernel\]/[kernel.kallsyms]/g; s/\[base unknown\]/[kernel.kallsyms]/g; s/\[jit [^];]*\]/[jit]/g'
}

checked=0
for file in "$corpus"/perfscript/*.txt "$corpus"/perfdata/linux/* "$corpus"/pmcstat/*; do
	culprit import -q --force "$file" -o run.prof 2>message || continue
	for format in csv json speedscope perf-script; do
		culprit export -q --stash-only -f $format run.prof -o run.$format
	done
	python3 sums.py >events 2>message || fail "$file: $(tail -n 1 message)"
	while read -r event; do
		culprit export -q --stash-only -e "$event" -f perf-script run.prof -o one.script
		culprit import -q one.script -o again.prof
		folded "$event" run.prof | LC_ALL=C sort >wanted
		# an unknown command has a name in the text
		folded '*' again.prof | sed 's/^\[unknown\];//' | LC_ALL=C sort >again
		cmp -s wanted again || fail "$file, $event: $(diff wanted again | head -n 4)"
		checked=$((checked + 1))
	done <events
	rm -f again.prof* run.prof*
done
[ $checked -gt 20 ] || fail "only $checked exports were there to check"
