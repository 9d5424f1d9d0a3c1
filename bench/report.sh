# What a report costs: 150 000 addresses in 20 000 functions, with 1, 10 and 100
# times the samples. Time and memory follow the addresses, so the three are equal.
. "$SOURCE/tests/lib.sh"
need_command python3

for multiple in 1 10 100; do
	"$TOOLS/make-profile" large "p$multiple" 150000 "$multiple"
done

echo "machine: $(uname -srm), $(nproc) CPUs"
python3 - "$CULPRIT" <<'PYTHON'
import os, resource, subprocess, sys, time

def run(path, *options):
    """Least CPU seconds, least elapsed seconds and the most MiB of 7 runs."""
    cpu, elapsed, memory = [], [], []
    for _ in range(7):
        start = time.monotonic()
        process = subprocess.Popen([sys.argv[1], "report", *options, path], stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        assert status == 0
        elapsed.append(time.monotonic() - start)
        cpu.append(usage.ru_utime + usage.ru_stime)
        memory.append(usage.ru_maxrss / 1024)
    return min(cpu), min(elapsed), max(memory)

figures = {}
for multiple in (1, 10, 100):
    path = f"p{multiple}"
    figures[multiple] = run(path)
    cpu, elapsed, memory = figures[multiple]
    print(f"{multiple:4} x samples: {1000 * elapsed:6.1f} ms, {1000 * cpu:6.1f} ms of CPU, "
          f"{memory:5.1f} MiB, file {os.path.getsize(path) / 1000:.1f} kB")
cpu, elapsed, memory = run("p1", "--json")
print(f"   all rows as JSON: {1000 * elapsed:6.1f} ms, {1000 * cpu:6.1f} ms of CPU, {memory:5.1f} MiB")

def differ(index, limit):
    values = [figure[index] for figure in figures.values()]
    return max(values) / min(values) > limit

if differ(2, 1.1):
    sys.exit("failed: memory grows with samples")
if differ(0, 1.5):
    sys.exit("failed: CPU time grows with samples")
PYTHON
