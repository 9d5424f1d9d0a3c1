# What a report costs: 150 000 addresses in 20 000 functions, with 1, 10 and 100
# times the samples. Time and memory follow the addresses, so the three are equal:
# memory is held to that; times are printed, the best of BENCH_ROUNDS (3; the full form 7), since a busy
# machine may double one.
. "$SOURCE/tests/lib.sh"
need_command python3

for multiple in 1 10 100; do
	"$TOOLS/make-profile" large "p$multiple" 150000 "$multiple"
done

echo "machine: $(uname -srm), $(nproc) CPUs"
python3 - "$CULPRIT" "${BENCH_ROUNDS:-3}" <<'PYTHON'
import os, resource, subprocess, sys, time

def run(path, *options):
    """Least CPU seconds, least elapsed seconds and the most MiB of some runs."""
    cpu, elapsed, memory = [], [], []
    for _ in range(int(sys.argv[2])):
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

def ratio(index):
    """Of the figure at 100 times the samples to that at 1 time."""
    return figures[100][index] / figures[1][index]

print(f"100 x to 1 x samples: CPU {ratio(0):.2f}, memory {ratio(2):.2f}")
if ratio(2) > 1.1:
    sys.exit("failed: memory grows with samples")
PYTHON
