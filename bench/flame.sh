# From a perf.data with stacks to a flame graph, beside perf script, stackcollapse-perf.pl and
# flamegraph.pl; folded text to a graph; a report beside perf's: time and peak memory of each.
#   FLAMEGRAPH    folder of the FlameGraph scripts; without it only our own figures
#   FLAME_SECONDS what is recorded here, at 20 kHz a CPU (default 2; the full form 60: > 200 MB)
#   FLAME_DATA    a perf.data that is there already
# With the scripts the stacks themselves are compared, with names and without, and a difference for which
# flame_stacks.py has no reason fails.
. "$SOURCE/tests/lib.sh"
need_command python3 perf
seconds=${FLAME_SECONDS:-2}
data=${FLAME_DATA:-}

if [ -z "$data" ]; then
	need_root
	need_command sqlite3 xz cc
	mkdir out
	"$SOURCE/tools/demo-workload" $((seconds + 1)) "$PWD/out" >/dev/null &
	workload=$!
	perf record -q -a -g -F 20000 -o perf.data -- sleep "$seconds" >/dev/null 2>perf.err ||
		skip "perf cannot record here: $(tail -n 1 perf.err)"
	wait $workload || true
	data=$PWD/perf.data
fi
full=
[ "$(stat -c %s "$data")" -lt 200000000 ] || full=1
echo "machine: $(uname -srm), $(nproc) CPUs, load $(cut -d ' ' -f 1 /proc/loadavg)"
echo "perf.data: $(stat -c %s "$data") bytes"

python3 - "$CULPRIT" "$data" "${FLAMEGRAPH:-}" "$full" \
	"$SOURCE/bench/flame_stacks.py" <<'PYTHON'
import os, subprocess, sys, time
culprit, data, scripts, full, tool = sys.argv[1:]

def run(command, times):
    """Least elapsed and least CPU seconds of all its processes, the most MiB of any, over some runs."""
    best = None
    for _ in range(times):
        start = time.monotonic()
        process = subprocess.Popen(["bash", "-c", "set -o pipefail; " + command], stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        assert status == 0, command
        figures = (time.monotonic() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)
        best = figures if best is None else (min(best[0], figures[0]), min(best[1], figures[1]), max(best[2], figures[2]))
    return best

def show(what, figures, other=None):
    factor = f"  {other[0] / figures[0]:6.1f} x faster, {other[1] / figures[1]:.1f} x by CPU time" if other else ""
    print(f"{what:46} {figures[0]:8.3f} s {figures[1]:8.3f} s of CPU {figures[2]:7.1f} MiB{factor}")

read = run(f"cat '{data}' >/dev/null", 3)
flame = run(f"'{culprit}' flame '{data}' >ours.svg", 5)
report = run(f"'{culprit}' report '{data}' >report.txt", 5)
run(f"'{culprit}' export -q -f folded '{data}' >ours.folded", 1)
folded = run(f"'{culprit}' flame ours.folded >folded.svg", 5)
theirs = {"report": run(f"perf report --stdio --no-children -i '{data}' >perf.txt", 1 if full else 2)}
if scripts:
    theirs["flame"] = run(f"perf script --no-inline -i '{data}' | '{scripts}/stackcollapse-perf.pl' >theirs.folded && "
                          f"'{scripts}/flamegraph.pl' theirs.folded >theirs.svg", 1)
    theirs["folded"] = run(f"'{scripts}/flamegraph.pl' ours.folded >theirs-folded.svg", 2)
else:
    print("no FlameGraph scripts: set FLAMEGRAPH to their folder to compare with them")
show("reading the file", read)
show("culprit flame perf.data", flame, theirs.get("flame"))
if "flame" in theirs:
    show("  perf script | stackcollapse | flamegraph.pl", theirs["flame"])
show("culprit flame, folded text", folded, theirs.get("folded"))
if "folded" in theirs:
    show("  flamegraph.pl", theirs["folded"])
show("culprit report perf.data", report, theirs["report"])
show("  perf report --stdio --no-children", theirs["report"])
print(f"pictures: {os.path.getsize('ours.svg')} bytes of perf.data, {os.path.getsize('folded.svg')} of folded text")

def total(path):  # in bytes: a name may hold what ends a line of text
    return sum(int(line.rsplit(b" ", 1)[1]) for line in open(path, "rb"))

if scripts:
    ours, other = total("ours.folded"), total("theirs.folded")
    print(f"weight of the stacks: {ours} here, {other} there" +
          ("" if ours == other else ": it loses samples of names that it misreads; see below"))
sys.stdout.flush()
for form in ["names", "plain"] if scripts else []:
    if subprocess.run([sys.executable, tool, culprit, data, scripts, form]).returncode:
        sys.exit(1)
PYTHON
