# A gzip file without name and time, the same each time, and never on a terminal.
. "$SOURCE/tests/lib.sh"
need_command python3
"$TOOLS/make-code-profile" x86 culprit.prof
culprit export -f pprof -o one.pb.gz
culprit export -q -f pprof >two.pb.gz
cmp one.pb.gz two.pb.gz
# texts and values, read without any schema
gzip -dc one.pb.gz | python3 -c '
import sys
def fields(b):
    at = 0
    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = b[at]; at += 1
            value |= (byte & 127) << shift; shift += 7
            if byte < 128: return value
    while at < len(b):
        key = varint()
        if key & 7:
            size = varint(); yield key >> 3, b[at:at + size]; at += size
        else:
            yield key >> 3, varint()
def numbers(b):
    out = []
    value = shift = 0
    for byte in b:
        value |= (byte & 127) << shift; shift += 7
        if byte < 128: out.append(value); value = shift = 0
    return out
top = list(fields(sys.stdin.buffer.read()))
texts = [v.decode() for n, v in top if n == 6]
for n, v in top:
    if n in (1, 11): print("type", *[texts[t] for f, t in fields(v)])
    if n == 2:
        sample = list(fields(v))
        labels = [dict(fields(l)) for f, l in sample if f == 3]
        print("sample", numbers(sample[0][1]), numbers(sample[1][1]), [(texts[l[1]], texts[l[2]] if 2 in l else l[3]) for l in labels])
    if n == 3: print("mapping", [(f, texts[m] if f in (5, 6) else m) for f, m in fields(v)])
    if n == 4: print("location", [(f, dict(fields(l)) if f == 4 else l) for f, l in fields(v)])
    if n == 5: print("function", [(f, texts[l] if f > 1 else l) for f, l in fields(v)])
    if n in (9, 10, 12): print(n, v)
'
python3 - <<'END'
import pty, subprocess
terminal, end = pty.openpty()
print(subprocess.run(["culprit", "export", "-q", "-f", "pprof"], stdout=end).returncode)
END
