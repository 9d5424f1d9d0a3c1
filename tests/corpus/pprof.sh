. "$SOURCE/tests/lib.sh"
# Stacks, samples and values of pprof profiles and of gperftools' CPU profiles from elsewhere, stack
# by stack: the former against a reader of their own, the latter against google/pprof's rendering.
# beside others
need_command python3
corpus="$SOURCE/../shared/corpus/pprof"
[ -d "$corpus" ] || skip "no folder with outside recordings"

cat >compare.py <<'EOF'
import collections, gzip, os, re, subprocess, sys
from protobuf import fields, varints

def frame(names, path, vaddr):
    return ">".join(names) + "@" + (path if path[:1] == "[" else os.path.basename(path)) + f"+{vaddr:#x}"

def of_proto(path):
    data = open(path, "rb").read()
    data = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    texts = [v.decode() for n, v in fields(data) if n == 6]
    one = lambda number: [dict(fields(v)) for n, v in fields(data) if n == number]
    mappings = {m[1]: m for m in one(3)}
    functions = {f[1]: texts[f[2]] for f in one(5)}
    places = {}
    for message in (v for n, v in fields(data) if n == 4):
        place = dict(fields(message))
        names = [functions[dict(fields(v))[1]] for n, v in fields(message) if n == 4]
        mapping = mappings.get(place.get(2), {})
        vaddr = place[3] - mapping.get(2, 0) + mapping.get(4, 0)
        places[place[1]] = frame(names[::-1], texts[mapping.get(5, 0)], vaddr)
    stacks = collections.Counter()
    for message in (v for n, v in fields(data) if n == 2):
        got = {1: [], 2: []}
        for number, value in fields(message):
            if number in got:
                got[number] += [value] if isinstance(value, int) else varints(value)
        samples, cpu = got[2]
        stacks[";".join(places[l] for l in reversed(got[1]))] += complex(samples, cpu)
    return stacks

def of_rendering(path):
    samples, places, mappings, section = [], {}, {}, None
    for line in open(path):
        if line.strip() in ("Samples:", "Locations", "Mappings"):
            section = line.strip()
        elif section == "Samples:" and (found := re.match(r"\s*(\d+)\s+(\d+): ([\d ]+)", line)):
            samples.append((int(found[1]), int(found[2]), found[3].split()))
        elif section == "Locations" and (found := re.match(r"\s*(\d+): (0x\w+) M=(\d+)", line)):
            places[found[1]] = (int(found[2], 16), found[3])
        elif section == "Mappings" and (found := re.match(r"(\d+): (0x\w+)/(0x\w+)/(0x\w+) (\S*)", line)):
            mappings[found[1]] = (int(found[2], 16), int(found[4], 16), found[5])
    stacks = collections.Counter()
    for count, cpu, ids in samples:
        frames = []
        for address, mapping in (places[i] for i in reversed(ids)):
            start, offset, path = mappings[mapping]
            frames.append(frame([], path, address - start + offset))
        stacks[";".join(frames)] += complex(count, cpu)
    return stacks

def of_profile(tool, path):
    stacks = collections.Counter()
    for line in subprocess.run([tool, path], check=True, capture_output=True, text=True).stdout.splitlines():
        _, event, samples, estimate, labels, frames = line.split("\t")
        assert event == "cpu"
        stacks[frames] += complex(int(samples), int(estimate))
    return stacks

tool, profile, reference = sys.argv[1:]
wanted = (of_rendering if reference.endswith(".string") else of_proto)(reference)
found = of_profile(tool, profile)
for stack in wanted.keys() | found.keys():
    if wanted[stack] != found[stack]:
        sys.exit(f"{reference}: {found[stack]}, not {wanted[stack]}, in {stack}")
total = sum(found.values())
print(f"{os.path.basename(reference)}: {len(found)} stacks, {total.real:.0f} samples, {total.imag:.0f} ns")
EOF

for file in large.cpu speedscope-simple.prof; do
	culprit import -q "$corpus/$file" -o run.prof 2>message
	expect_equal "what was said of $file" "$(cat message)" ''
	PYTHONPATH="$SOURCE/tests" python3 -B compare.py "$TOOLS/stacks" run.prof "$corpus/$file"
	gzip -dc "$corpus/$file" >plain
	culprit import -q plain -o plain.prof
	cmp run.prof plain.prof || fail "$file: unpacked it is another profile"
done
for file in cppbench.cpu gobench.cpu; do
	culprit import -q "$corpus/$file" -o run.prof 2>message
	expect_equal "what was said of $file" "$(cat message)" ''
	PYTHONPATH="$SOURCE/tests" python3 -B compare.py "$TOOLS/stacks" run.prof "$corpus/$file.string"
done

# exported and imported again a profile is the same; what the format has no place for goes once
for file in large.cpu speedscope-simple.prof cppbench.cpu gobench.cpu; do
	culprit import -q "$corpus/$file" -o one.prof
	culprit export -q -f pprof one.prof -o two.pb.gz
	culprit import -q two.pb.gz -o two.prof
	culprit export -q -f pprof two.prof -o three.pb.gz
	culprit import -q three.pb.gz -o three.prof
	cmp two.prof three.prof || fail "$file: imported, exported and imported it is not the same"
	for profile in one two; do
		"$TOOLS/stacks" $profile.prof | LC_ALL=C sort >$profile.stacks
	done
	cmp one.stacks two.stacks || fail "$file: its stacks have changed"
done

# likewise stacks of names alone, and of other tools' symbols
checked=0
for file in "$corpus"/../folded/*.txt "$corpus"/../perfscript/*.txt; do
	culprit import -q --one-count "$file" -o one.prof 2>/dev/null || continue
	culprit export -q -f pprof one.prof -o two.pb.gz
	culprit import -q two.pb.gz -o two.prof
	event=$("$TOOLS/stacks" one.prof | cut -f 2 | LC_ALL=C sort -u | head -n 1)
	for profile in one two; do
		culprit export -q -e "$event" $profile.prof | LC_ALL=C sort >$profile
	done
	cmp one two || fail "$file: $(diff one two | head -4)"
	checked=$((checked + 1))
done
[ $checked -gt 10 ] || fail "only $checked files of stacks were there"

# cut off: refused with where, or kept as far as it goes
gzip -dc "$corpus/large.cpu" | head -c 2000000 >cut
head -c 4000 "$corpus/gobench.cpu" >cut.cpu
for file in cut cut.cpu; do
	expect_status 1 culprit import -q $file -o cut.prof 2>message
	expect_match "message" "$(cat message)" 'at byte [0-9]+: '
	expect_equal "number of messages" "$(wc -l <message)" 1
done
culprit import -q --force cut.cpu -o cut.prof 2>message
expect_match "message" "$(cat message)" 'what comes before is kept'
culprit report cut.prof >report
