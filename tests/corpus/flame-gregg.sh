. "$SOURCE/tests/lib.sh"
# --scale gregg: name, place, width and colour of every frame are those of difffolded.pl -n and
# flamegraph.pl, but for flamegraph.pl's own rounding to a tenth of a pixel.
# beside others
need_command python3
corpus="$SOURCE/../shared/corpus"
reference="$corpus/expected/flamegraph/cycles-instructions-01.normalize.svg"
[ -e "$reference" ] || skip "no folder with outside recordings"

cat >compare.py <<'END'
import html, re, sys

def frames(path, pattern, left):
    text = open(path).read()
    found = [m.groupdict() for m in re.finditer(pattern, text)]
    base = max(float(m["y"]) for m in found)
    return sorted((round((base - float(m["y"])) / 16), float(m["x"]) - left, html.unescape(m["name"]),
                   float(m["width"]), m["colour"]) for m in found)

theirs = frames(sys.argv[1], r'<title>(?P<name>.*?) \([\d,]+ samples.*?</title><rect x="(?P<x>[\d.]+)" '
                r'y="(?P<y>[\d.]+)" width="(?P<width>[\d.]+)" height="[\d.]+" fill="rgb\((?P<colour>.*?)\)"', 10)
ours = frames(sys.argv[2], r'<rect x="(?P<x>[\d.]+)" y="(?P<y>[\d.]+)" width="(?P<width>[\d.]+)" height="15" '
              r'class="rgb [^"]*" fill="rgb\((?P<colour>.*?)\)" data-i="\d+"><title>(?P<name>.*?)(?: \([^:]*\))?: ', 0)
assert len(theirs) > 30 and len(theirs) == len(ours), (len(theirs), len(ours))
for a, b in zip(theirs, ours):
    assert a[0] == b[0] and a[2] == b[2] and a[4] == b[4], (a, b)
    assert abs(a[1] - b[1]) <= 0.051 and abs(a[3] - b[3]) <= 0.11, (a, b)
print(f"{sys.argv[3]}: {len(ours)} frames are equal")
END
folded="$corpus/expected/stackcollapse-perf/perf-cycles-instructions-01"
culprit flame --scale gregg --per total --diff "$folded.instructions.folded" "$folded.cycles.folded" >folded.svg
python3 compare.py "$reference" folded.svg folded
culprit flame --scale gregg -e cycles "$corpus/perfscript/perf-cycles-instructions-01.txt" >script.svg
python3 compare.py "$reference" script.svg "perf script"
