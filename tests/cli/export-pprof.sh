# A gzip file without name and time, the same each time, and never on a terminal.
. "$SOURCE/tests/lib.sh"
need_command python3
"$TOOLS/make-code-profile" x86 culprit.prof
culprit export -f pprof -o one.pb.gz
culprit export -q -f pprof >two.pb.gz
cmp one.pb.gz two.pb.gz
# texts and values, read without any schema
gzip -dc one.pb.gz | PYTHONPATH="$SOURCE/tests" python3 -B -c '
import sys
from protobuf import fields, varints
top = list(fields(sys.stdin.buffer.read()))
texts = [v.decode() for n, v in top if n == 6]
for n, v in top:
    if n in (1, 11): print("type", *[texts[t] for f, t in fields(v)])
    if n == 2:
        sample = list(fields(v))
        labels = [dict(fields(l)) for f, l in sample if f == 3]
        print("sample", list(varints(sample[0][1])), list(varints(sample[1][1])), [(texts[l[1]], texts[l[2]] if 2 in l else l[3]) for l in labels])
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
