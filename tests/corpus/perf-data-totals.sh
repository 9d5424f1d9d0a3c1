. "$SOURCE/tests/lib.sh"
# Every outside perf.data against perf: samples and the sum of periods, event by event, are those of the
# lines of `perf script`; a member of a group has as many reads as perf has lines. Where perf 6.1
# cannot read a file, its own report is that of its records, counted here.
# beside others
corpus="$SOURCE/../shared/corpus"
[ -d "$corpus/perfdata" ] || skip "no folder with outside recordings"
need_command python3

cat >compare.py <<'PYTHON'
import gzip, json, os, re, subprocess, sys

corpus, culprit = sys.argv[1:3]
expected = corpus + "/expected/perf/"

# NAME PID[/TID] [CPU] TIME: [PERIOD] EVENT:
line_of_sample = re.compile(
    r"^\s*(.+?)\s+(-?\d+)(?:/\d+)?\s+(?:\[\d+\]\s+)?[\d.]+:\s+(?:(\d+)\s+)?(\S.*?):(?:\s|$)")

# perf invents samples from the hardware trace, which is not decoded here.
synthesised = {"linux/perf.data.intel_pt-4.14": {"psb", "cbr", "branches"}}
# The event has no period in its lines; each sample stands for one.
without_period = {"linux/perfparser.probe.data.file"}
# simpleperf's META_INFO names the event, which perf does not read.
other_name = {"cpu-cycles": "cycles:HG", "cache-misses": "cache-misses:u"}
# perf 6.1 has no answer: what the records say.
without_reference = {
    "linux/hotspot.perf.data.true.v2.gz": {"cpu-clock": [1, 250000]},
    "compressed/sleep.compressed2.data": {"cycles:Pu": [7, 692634]},
    "simpleperf/simpleperf-perf_test_max_stack_and_percent_limit.data": {"cycles:u": [121, 11170488]},
    "malformed/perf.data.piped.extradata-3.4": {
        "cycles": [922, 718664058], "instructions": [798, 789445922],
        "cache-references": [943, 7498835], "cache-misses": [874, 4300229],
        "branches": [796, 176712963], "branch-misses": [885, 3178224]},
}
# What can't be read, and the reason that must be given.
refused = {
    "simpleperf/simpleperf-perf_etm.data": "the recording has no samples",
    "derived/trunc-in-attrs.data": "ends at byte 180, inside its attributes",
    "derived/trunc-in-data.data": "ends at byte 300000, inside its records",
    "derived/trunc-in-header.data": "ends at byte 60, inside its header",
    "derived/trunc-in-features.data": "feature 12 at byte 12476 lies outside the file",
    "malformed/fuzz-cf-4883679740166144": "the recording has no samples",
    "malformed/fuzz-poc-145fc46ec928e50d7116": "the header at byte 16 gives attributes of",
    "malformed/fuzz-poc-1d0e6544b4addbadb2ff": "the header at byte 16 gives attributes of 6 bytes",
    "malformed/fuzz-poc-2c02c3aa9fb2a613b650": "inside the record at byte 106",
    "malformed/fuzz-poc-3be2b745d86f9b6e8491": "the record at byte 106 has 0 bytes",
    "malformed/fuzz-poc-4a52fdd4e9d5adcda853": "the header at byte 16 gives attributes of 6 bytes",
    "malformed/fuzz-poc-62e91c55617092aa8237": "inside the record at byte 32",
    "malformed/hotspot.perf.data.broken.gz": "no format that culprit knows",
    "malformed/hotspot.perf.data.true.v1": "version 1 of the format",
    "malformed/invalid_perf.data": "no format that culprit knows",
    "malformed/perf.data.piped.corrupted.zero_size_sample-3.2": "the record at byte 49104 has 0 bytes",
}
# With --force, what comes before the damage: all of it (None), or that many samples.
forced = {"derived/trunc-in-features.data": None, "derived/trunc-in-data.data": 284}


def lines_of(name):
    path = expected + name.replace("/", "__") + ".script.txt"
    if os.path.exists(path):
        return open(path, errors="replace").read().splitlines()
    if os.path.exists(path + ".gz"):
        return gzip.open(path + ".gz", "rt", errors="replace").read().splitlines()
    return None


def wanted_of(name):
    lines = lines_of(name)
    if name in without_reference or lines is None:
        return without_reference.get(name)
    totals = {}
    for line in lines:
        found = line_of_sample.match(line) if line and line[0] not in "\t#" else None
        if found and found.group(4) not in synthesised.get(name, ()):
            total = totals.setdefault(found.group(4), [0, 0])
            total[0] += 1
            total[1] += int(found.group(3) or name in without_period)
    return totals


def actual_of(name, *options):
    run = subprocess.run([culprit, "report", "-q", "--json", *options, f"{corpus}/perfdata/{name}"],
                         capture_output=True, text=True)
    if run.returncode:
        return None, run.stderr
    totals = {}
    for event in json.loads(run.stdout)["events"]:
        samples = event["total_samples"] if event["sampled"] else event["bill"]["group_reads"]
        if samples:
            totals[event["name"]] = [samples, event["total"]]
            if event["sampled"] and event["bill"]["stored_samples"] != samples:
                return None, "the bill has other samples than the cells"
    return totals, run.stderr


wrong = checked = 0
for folder, _, files in sorted(os.walk(corpus + "/perfdata")):
    for file in sorted(files):
        path = os.path.join(folder, file)
        name = os.path.relpath(path, corpus + "/perfdata")
        magic = open(path, "rb").read(8)
        if magic[:2] != b"\x1f\x8b" and magic not in (b"PERFILE2", b"2ELIFREP") and name not in refused:
            continue
        checked += 1
        actual, message = actual_of(name)
        if name in refused:
            if actual is not None or refused[name] not in message:
                wrong += 1
                print(f"{name}: {message or actual}, not refused for: {refused[name]}")
            if name in forced:
                actual, message = actual_of(name, "--force")
                samples = forced[name]
                good = actual and (actual == wanted_of(name) if samples is None else
                                   sum(total[0] for total in actual.values()) == samples)
                if not good:
                    wrong += 1
                    print(f"{name} --force: {actual} {message}")
            continue
        wanted = wanted_of(name)
        if name.startswith("simpleperf/") and actual and actual != wanted:
            actual = {other_name.get(event, event): total for event, total in actual.items()}
        if wanted is None or actual != wanted:
            wrong += 1
            print(f"{name}: {actual}, perf: {wanted} {message}")
print(f"{checked} files, {wrong} differ")
sys.exit(wrong != 0 or checked < 50)
PYTHON
python3 compare.py "$corpus" "$CULPRIT" >result || fail "$(cat result)"
cat result
