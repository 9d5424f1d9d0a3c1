. "$SOURCE/tests/lib.sh"
# Recordings with their own binaries: samples per instruction are those of perf annotate, function by
# function and address by address; the instruction set is the file's own, without --isa.
# beside others
corpus="$SOURCE/../shared/corpus"
recordings=$corpus/perfdata
[ -d "$recordings/with-binary" ] || skip "no folder with outside recordings"
need_command python3

cat >compare.py <<'EOF'
import json, re, sys

# perf's text: functions as "ADDRESS <name>:", instructions as "SAMPLES : ADDRESS: text"
wanted, function = {}, None
for line in open(sys.argv[1], errors="replace"):
    found = re.search(r":\s+\d+\s+([0-9a-f]{8,}) <(.*)>:$", line)
    if found:
        function = int(found.group(1), 16)
        wanted.setdefault(function, {})
        continue
    found = re.match(r"\s*(\d+)\s*:\s+([0-9a-f]+):\s", line)
    if found and function is not None:
        address = int(found.group(2), 16)
        wanted[function][address] = wanted[function].get(address, 0) + int(found.group(1))

actual, isa = {}, set()
for procedure in json.load(open(sys.argv[2]))["procedures"]:
    if procedure["first_vaddr"] is None:
        continue
    rows = {}
    for row in procedure["rows"]:
        vaddr = int(row["vaddr"], 16)
        rows[vaddr] = rows.get(vaddr, 0) + (row["counts"][0]["samples"] or 0)
    actual[int(procedure["first_vaddr"], 16)] = rows
    isa.add(procedure["isa"])

wrong = compared = samples = 0
for function, addresses in wanted.items():
    rows = actual.get(function, {})
    for address in sorted(set(addresses) | set(rows)):
        compared += 1
        samples += addresses.get(address, 0)
        if addresses.get(address, 0) != rows.get(address, 0) or address not in rows:
            wrong += 1
            print(f"{address:x} in {function:x}: perf {addresses.get(address)}, here {rows.get(address)}")
print(f"{len(wanted)} functions, {compared} instructions, {samples} samples, {wrong} differ")
sys.exit(wrong != 0 or not compared or not samples or isa - {"x86-64", None} != set())
EOF

checked=0
while read -r folder file reference; do
	culprit annotate -q --no-source --json --limit 0 --symfs "$recordings/with-binary/$folder" \
		-i "$recordings/with-binary/$folder/$file" >here.json
	python3 compare.py "$corpus/expected/symbolised/$reference.annotate.txt" here.json >differences ||
		fail "$folder/$file: $(cat differences)"
	echo "$file: $(tail -n 1 differences)"
	checked=$((checked + 1))
done <<'EOF'
propeller_sample_1 propeller_sample_1.perfdata1 propeller_sample_1
ro_sample ro_sample.perf ro_sample
vector_static_gcc perf.data vector_static_gcc.perf.data
vector_static_gcc perf.data.zstd vector_static_gcc.perf.data.zstd
vector_static_gcc perf.lbr.data vector_static_gcc.perf.lbr.data
EOF
expect_equal "recordings" $checked 5

# An aarch64 file that perf annotate here cannot disassemble: perf script's addresses, which are the
# ELF file's own (its text lies at its offset).
binary=simpleperf-simpleperf_runtest_two_functions_arm64
recording=$recordings/simpleperf/simpleperf-runtest_two_functions_arm64_perf.data
mkdir symfs
cp "$recordings/simpleperf/$binary" symfs/
culprit annotate -q --no-source --json --limit 0 --symfs symfs -i "$recording" >here.json
python3 - here.json "$corpus/expected/perf/simpleperf__simpleperf-runtest_two_functions_arm64_perf.data.script.txt" <<'EOF' ||
import collections, json, re, sys
actual = collections.Counter()
for procedure in json.load(open(sys.argv[1]))["procedures"]:
    if procedure["image"].endswith("two_functions_arm64"):
        assert procedure["isa"] == "aarch64", procedure["isa"]
        assert procedure["name"].startswith("Function"), procedure["name"]
        for row in procedure["rows"]:
            assert row["kind"] == "instruction", row
            actual[int(row["vaddr"], 16)] += row["counts"][0]["samples"]
wanted = collections.Counter()
leaf = False
for line in open(sys.argv[2]):
    if not line.startswith((" ", "\t")):
        leaf = line.strip() != ""
        continue
    found = re.match(r"\s+([0-9a-f]+) .*two_functions_arm64\)", line)
    if leaf and found:
        wanted[int(found.group(1), 16)] += 1
    leaf = False
assert wanted and +actual == wanted, (dict(+actual), dict(wanted))
EOF
	fail "$recording"
echo "two_functions_arm64: every sample at its instruction"
