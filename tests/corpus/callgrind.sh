. "$SOURCE/tests/lib.sh"
# Costs of callgrind files, function by function and in total, are those that callgrind_annotate
# shows: for files from elsewhere, and for ones that valgrind writes here in its ways of writing.
# beside others
need_command python3
corpus="$SOURCE/../shared/corpus"

cat >compare.py <<'EOF'
import collections, re, subprocess, sys

def annotated(path):
    """What callgrind_annotate says: events, and costs by function."""
    rows, events, table = collections.defaultdict(collections.Counter), [], False
    cost = r"(\.|[\d,]+)(?: \( ?[\d.]+%\))?\s+"
    for line in open(path, errors="surrogateescape"):
        line = line.rstrip("\n")
        if line.startswith("Events recorded:"):
            events = line.split(":", 1)[1].split()
        elif line.rstrip().endswith("file:function"):
            table = True
        elif table and line and line[0] != "-":
            found = re.match(r"\s*" + cost * len(events) + r"(.*)", line)
            if not found:
                sys.exit(f"{path}: cannot read '{line}'")
            name = found.group(len(events) + 1).split(":", 1)[1]
            name = re.sub(r" \[[^]]*\]$", "", name)
            for event, count in zip(events, found.groups()):
                if count != ".":
                    rows[name][event] += int(count.replace(",", ""))
    return rows

def of_profile(cells, path):
    rows = collections.defaultdict(collections.Counter)
    text = subprocess.run([cells, path], check=True, capture_output=True).stdout
    for line in text.decode(errors="surrogateescape").splitlines():
        f = line.split("\t")
        if f[0] == "cell":
            rows[f[9]][f[1]] += int(f[6])
    return rows

def plain(rows):
    return {name: +costs for name, costs in rows.items() if +costs}

cells, profile, source = sys.argv[1:4]
text = open(source, errors="surrogateescape").read()
found = plain(of_profile(cells, profile))
wanted = plain(annotated(sys.argv[4])) if len(sys.argv) > 4 else found
for name in sorted(wanted.keys() | found.keys()):
    if wanted.get(name) != found.get(name):
        sys.exit(f"{source}: {name}: {found.get(name)}, not {wanted.get(name)}")
totals = collections.Counter()
for line in re.findall(r"^totals: (.*)", text, re.M):
    names = re.search(r"^events: (.*)", text, re.M).group(1).split()
    totals += collections.Counter(dict(zip(names, map(int, line.split()))))
sums = sum(found.values(), collections.Counter())
if totals and sums != totals:
    sys.exit(f"{source}: adds up to {sums}, not {totals}")
print(f"{len(found)} functions, {sum(sums.values())} events")
EOF

# same FILE [REFERENCE]: without one, its own totals are held against its costs.
same() {
	culprit import -q "$1" -o run.prof 2>message
	expect_equal "what was said of $1" "$(cat message)" ''
	python3 compare.py "$TOOLS/cells" run.prof "$@"
}

if [ -d "$corpus/callgrind" ]; then
	for file in "$corpus"/callgrind/*; do
		reference="$corpus/expected/callgrind_annotate/${file##*/}.txt"
		case $file in
		*/kcachegrind-cg-bad*)
			expect_status 1 culprit import -q "$file" -o bad.prof 2>message
			expect_match "$file" "$(cat message)" 'line [0-9]+: '
			expect_equal "number of messages" "$(wc -l <message)" 1
			;;
		*) same "$file" "$reference" ;;
		esac
	done
	# cut off in the middle: refused, or kept as far as it goes
	head -c 200000 "$corpus/callgrind/local-echo.callgrind.out" >cut
	expect_status 1 culprit import -q cut -o cut.prof 2>message
	expect_match "message" "$(cat message)" 'line [0-9]+: '
	culprit import -q --force cut -o cut.prof 2>message
	expect_match "message" "$(cat message)" 'what comes before is kept'
	culprit report cut.prof >report
fi

command -v valgrind >/dev/null && command -v callgrind_annotate >/dev/null || {
	[ -d "$corpus/callgrind" ] || skip "neither outside recordings nor valgrind here"
	exit 0
}
# recorded NAME OPTION...
recorded() {
	name=$1
	shift
	valgrind -q --tool=callgrind --callgrind-out-file="$name" "$@" ls / >/dev/null 2>valgrind.log ||
		fail "valgrind $*: $(cat valgrind.log)"
}
for options in "" "--dump-instr=yes --cache-sim=yes --branch-sim=yes --collect-jumps=yes" \
	"--compress-strings=no --compress-pos=no --cache-sim=yes" \
	"--dump-instr=yes --compress-strings=no --compress-pos=no" \
	"--separate-recs=3" "--separate-callers=2 --dump-instr=yes"; do
	recorded one $options
	callgrind_annotate --threshold=100 --auto=no one >one.txt
	same one one.txt
done
# callgrind_annotate does not read files of several parts
recorded parts --combine-dumps=yes --dump-every-bb=20000 --dump-instr=yes
same parts
# cachegrind writes the same format without calls
valgrind -q --tool=cachegrind --cache-sim=yes --cachegrind-out-file=cachegrind ls / >/dev/null 2>valgrind.log ||
	fail "valgrind: $(cat valgrind.log)"
cg_annotate --threshold=0 --auto=no cachegrind >cachegrind.txt 2>&1
same cachegrind cachegrind.txt
