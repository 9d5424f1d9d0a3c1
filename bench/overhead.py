"""Measures what recording the whole machine costs the programs that run on it.

usage: overhead.py [--seconds S] [--percent P] [--workloads NAME,...] [--recorders NAME;...] CULPRIT

As many copies of a workload as keep all CPUs busy run at once, so that whatever a recorder takes is taken
from them. In each round they run once under each recorder and once under none, in an order drawn by
chance. What a recorder costs is the mean, over rounds, of the logarithm of its time over that of nobody
in the same round; its interval is of Student's t, 95 %. Recorders begin some seconds before the clock
does, see the work once, and end after it: what is measured is a recording that goes on, not how it looks
around at first.
"nobody again" is nobody a second time: its interval has to hold 0.

At first stands what the interrupts alone must cost, by what `culprit record` found that a sample does.
"""
import argparse
import math
import os
import pathlib
import platform
import random
import re
import signal
import statistics
import subprocess
import sys
import time

HALF_WIDTH = 0.005  # an interval that is narrow enough
FEW_ROUNDS = 10     # below them a narrow interval is one by chance
MOST_ABOVE = 0.005  # what a recording may cost above its budget
SETTLED_S = 2.5     # after which a recorder has looked at what runs already
# More than there are counters, beside cycles and instructions.
TURNS = ["branches", "branch-misses", "cache-references", "cache-misses", "L1-dcache-loads", "L1-dcache-load-misses",
         "dTLB-load-misses", "iTLB-load-misses"]
CPUS = len(os.sched_getaffinity(0))

CHASE = r"""
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#define PLACES ((uint32_t)1 << 24) /* 64 MiB */
int main(int argc, char **argv)
{
	uint32_t *next = malloc(PLACES * sizeof(*next)), at = 0;
	/* one cycle through all: a linear congruential generator of full period (Hull and Dobell) */
	for (uint32_t i = 0; i < PLACES; i++)
		next[i] = (i * 1664525 + 1013904223) % PLACES;
	for (long turns = argc > 1 ? atol(argv[1]) : 0; turns > 0; turns--)
		at = next[at];
	printf("%u\n", at);
	return 0;
}
"""
LOOP = r"""
#include <stdint.h>
#include <stdio.h>
int main(void)
{
	uint64_t state = 1;
	for (long i = 0; i < 2500000000; i++)
		state = state * 6364136223846793005u + 1442695040888963407u;
	printf("%llu\n", (unsigned long long)state);
	return 0;
}
"""
# Sums and copies of arrays that no cache holds, as STREAM's triad (McCalpin).
STREAM = r"""
#include <stdio.h>
#include <stdlib.h>
#define PLACES ((size_t)1 << 22) /* 32 MiB each */
int main(void)
{
	double *a = malloc(PLACES * sizeof(*a)), *b = malloc(PLACES * sizeof(*b)), *c = malloc(PLACES * sizeof(*c));
	for (size_t i = 0; i < PLACES; i++)
		b[i] = c[i] = (double)i;
	for (int turn = 0; turn < 60; turn++)
		for (size_t i = 0; i < PLACES; i++)
			a[i] = b[i] + 3 * c[(i + (size_t)turn) % PLACES];
	printf("%f\n", a[17]);
	return 0;
}
"""
# One process with a thread for each CPU, which wait for each other every few hundred microseconds: what
# delays one delays all.
PARALLEL = r"""
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
static pthread_barrier_t barrier;
static void *work(void *context)
{
	uint64_t state = (uint64_t)(uintptr_t)context;
	for (int step = 0; step < 5000; step++) {
		for (int i = 0; i < 400000; i++)
			state = state * 6364136223846793005u + 1442695040888963407u;
		pthread_barrier_wait(&barrier);
	}
	printf("%d", (int)(state & 1));
	return NULL;
}
int main(int argc, char **argv)
{
	unsigned threads = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
	pthread_t all[1024];
	pthread_barrier_init(&barrier, NULL, threads);
	for (unsigned i = 0; i < threads && i < 1024; i++)
		if (pthread_create(&all[i], NULL, work, (void *)(uintptr_t)(i + 1)))
			return 1;
	for (unsigned i = 0; i < threads && i < 1024; i++)
		pthread_join(all[i], NULL);
	return 0;
}
"""
INTERPRETER = r"""
import json, re
for turn in range(40):
    text = json.dumps([{"name": f"n{i}", "value": i * turn} for i in range(9000)])
    assert len(re.findall(r'"n\d*7"', text)) == 900
    json.loads(text)
"""
# A process that serves and one that asks, over one connection.
SERVER = r"""
import http.client, http.server, os, signal, socketserver
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    def do_GET(self):
        body = b"".join(b"%d\n" % i for i in range(200))
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *arguments):
        pass
server = socketserver.TCPServer(("127.0.0.1", 0), Handler)
child = os.fork()
if not child:
    server.serve_forever()
asking = http.client.HTTPConnection("127.0.0.1", server.server_address[1])
for i in range(8000):
    asking.request("GET", "/")
    assert len(asking.getresponse().read()) > 600
os.kill(child, signal.SIGTERM)
"""
# Lays out and sorts tables, in JIT code and out of it.
PAGE = r"""<!doctype html><title>work</title><table id=t></table><script>
let sum = 0;
for (let turn = 0; turn < 12; turn++) {
    const rows = Array.from({length: 4000}, (_, i) => ({ name: `n${(i * 7919 + turn) % 4001}`, value: i * turn }));
    rows.sort((a, b) => a.name < b.name ? -1 : 1);
    t.innerHTML = rows.map(row => `<tr><td>${row.name}<td>${row.value}`).join("");
    sum += t.offsetHeight + JSON.stringify(rows).length;
}
document.title = sum;
</script>"""
SOURCE_TEXT = r"""
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
""" + "".join(
    f"static int f{i}(const char *s, int n) {{ int sum = 0; for (int i = 0; i < n; i++) sum += (int)strlen(s + i % 3) * {i + 3} ^ n;"
    f" return sum + (int)(sin(n) * {i}); }}\nint g{i}(int n) {{ return f{i}(\"{'x' * i}\", n) + abs(n); }}\n" for i in range(12))


def prepare(name):
    """The command of a workload, of 2 to 4 s."""
    def build(text):
        with open(f"{name}.c", "w") as file:
            file.write(text)
        subprocess.run(["cc", "-O2", "-o", name, f"{name}.c", "-lm", "-lpthread"], check=True)
        return f"./{name}"

    if name == "loop":
        return [build(LOOP)]
    if name == "memory":
        return [build(CHASE), "4000000"]
    if name == "stream":
        return [build(STREAM)]
    if name == "parallel":
        return [build(PARALLEL), str(CPUS)]
    if name in ("server", "interpreter"):
        with open(f"{name}.py", "w") as file:
            file.write(SERVER if name == "server" else INTERPRETER)
        return [sys.executable, f"{name}.py"]
    if name == "gcc":
        with open("source.c", "w") as file:
            file.write(SOURCE_TEXT)
        return ["sh", "-c", "for i in 1 2 3 4 5 6; do cc -O1 -c -o $$.o source.c || exit; done; rm $$.o"]
    if name == "chromium":
        with open("page.html", "w") as file:
            file.write(PAGE)
        return ["sh", "-c", "chromium --headless --no-sandbox --disable-gpu --user-data-dir=browser.$$ --virtual-time-budget=100000 "
                "--dump-dom page.html 2>browser.said; status=$?; rm -rf browser.$$; exit $status"]
    sys.exit(f"overhead: no workload '{name}'; there are gcc, memory, stream, loop, server, interpreter, parallel and chromium")


def copies(name):
    """How many of a workload keep all CPUs busy."""
    return 1 if name == "parallel" else CPUS


def timed(command, count):
    """Mean elapsed seconds of so many copies."""
    start = time.monotonic()
    running = {subprocess.Popen(command, stdout=subprocess.DEVNULL).pid for _ in range(count)}
    total = 0.0
    while running:
        pid, status = os.wait()
        if pid not in running:
            sys.exit("overhead: a recorder ended before the work that it recorded")
        running.remove(pid)
        total += time.monotonic() - start
        if status:
            sys.exit(f"overhead: {' '.join(command)} failed")
    return total / count


def has_events(pid):
    try:
        return any("perf_event" in os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return False


class Recorder:
    """A recording of the whole machine, and the CPU time that it takes itself."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        while not has_events(self.process.pid):
            if self.process.poll() is not None:
                sys.exit(f"overhead: {' '.join(command)}: {self.process.stderr.read().decode()}")
            time.sleep(0.02)

    def own(self):
        """CPU seconds of it and its helpers, also of those that have ended."""
        ticks = 0
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        for pid in [self.process.pid, *children]:
            try:
                fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            except OSError:  # it has ended since: its parent's
                continue
            ticks += sum(int(field) for field in fields[11:15])
        return ticks / os.sysconf("SC_CLK_TCK")

    def end(self):
        self.process.send_signal(signal.SIGINT)
        said = self.process.communicate()[1]
        if self.process.returncode not in (0, 128 + signal.SIGINT, -signal.SIGINT):
            sys.exit(f"overhead: {' '.join(self.process.args)}: {said.decode()}")


def quantile(freedom):
    """Of Student's t, 97.5 %: Cornish and Fisher's expansion about the normal one."""
    z = 1.959964
    return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)


def interval(logarithms):
    """Mean and half width of 95 %, as shares."""
    mean = statistics.fmean(logarithms)
    if len(logarithms) < FEW_ROUNDS:
        return math.expm1(mean), math.inf
    error = statistics.stdev(logarithms) / math.sqrt(len(logarithms))
    return math.expm1(mean), quantile(len(logarithms) - 1) * error


def run(name, recorders, seconds, chance):
    """Rounds of a workload: by recorder the logarithms of ratios, and shares of a CPU that it took; how long nobody's took."""
    command, count = prepare(name), copies(name)
    timed(command, count)
    logarithms = {recorder: [] for recorder in recorders}
    own = {recorder: [] for recorder in recorders}
    bare = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        times = {}
        order = [None, *recorders]
        chance.shuffle(order)
        for recorder in order:
            recording = Recorder(recorders[recorder]) if recorders.get(recorder) else None
            time.sleep(SETTLED_S)
            timed(command, count)  # its files are new to the recorder once
            before = recording.own() if recording else 0
            times[recorder] = timed(command, count)
            if recording:
                own[recorder].append((recording.own() - before) / times[recorder])
                recording.end()
        bare.append(times[None])
        for recorder in recorders:
            logarithms[recorder].append(math.log(times[recorder] / times[None]))
        if all(interval(of)[1] <= HALF_WIDTH for of in logarithms.values()):
            break
    return logarithms, own, bare


def sample_cost(culprit, percent):
    """The rate that the budget buys, and what a sample costs in us."""
    said = subprocess.run([culprit, "record", "-a", "--overhead", str(percent), "--duration", "200ms", "-o", "try.prof"],
                          capture_output=True, text=True).stderr
    found = re.search(r"a sample costs ([\d.]+) us here(?:, measured \d+ min ago)?: \S+ % of a CPU buys (\d+) a second", said)
    if not found:
        if "the cost of a sample could not be measured" in said:
            print(said.strip())
            sys.exit(77)
        sys.exit(f"overhead: culprit record: {said}")
    return int(found[2]), float(found[1])


def has_counters():
    return any(pathlib.Path("/sys/bus/event_source/devices").glob("cpu*")) or any(
        pathlib.Path("/sys/bus/event_source/devices").glob("armv8*"))


def processor():
    with open("/proc/cpuinfo") as info:
        return next((line.partition(":")[2].strip() for line in info if line.startswith("model name")), platform.machine())


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--seconds", type=float, default=12)
    parser.add_argument("--percent", type=float, default=1)
    parser.add_argument("--workloads", default="loop")
    parser.add_argument("culprit")
    parser.add_argument("--recorders", help="of those that are here; default: all")
    options = parser.parse_args()
    rate, cost_us = sample_cost(options.culprit, options.percent)
    with open("/proc/loadavg") as load:
        print(f"machine: {processor()}, {CPUS} CPUs, {platform.release()}, load {load.read().split()[0]}")
    interrupts = rate * cost_us / 1e6
    print(f"budget {options.percent:g} %: {rate} samples a second and CPU; each costs {cost_us} us: its interrupts must cost "
          f"{100 * interrupts:.2f} %")
    record = [options.culprit, "record", "-q", "-a", "--overhead", str(options.percent), "-o", "o.prof"]
    recorders = {"nobody again": None, "culprit record -a": record, "culprit record -a -g": [*record, "-g"],
                 "culprit record -a --engine bpf": [*record, "--engine", "bpf"]}
    if subprocess.run([*recorders["culprit record -a --engine bpf"], "--duration", "100ms"], capture_output=True).returncode:
        del recorders["culprit record -a --engine bpf"]
        print("no BPF engine here")
    daemon = [options.culprit, "daemon", "--config", "/dev/null", "--no-socket", "--overhead", str(options.percent), "-o", "db"]
    second = ["-e", "cycles", "-e", "instructions"] if has_counters() else ["-e", "cpu-clock", "-e", "page-faults"]
    recorders |= {"daemon, flat": [*daemon, "--no-stacks"], "daemon, + stacks": daemon, "daemon, + second event": [*daemon, *second]}
    if has_counters():
        turns = [argument for event in TURNS for argument in ("-e", event)]
        recorders["daemon, + rotation"] = [*daemon, *second, *turns]
    else:
        print("no counters here, so no rotation of events; the second event is page-faults")
    perf = ["perf", "record", "-q", "-a", "-F", str(rate), "-o", "perf.data"]
    try:
        if subprocess.run([*perf, "--", "true"], capture_output=True).returncode == 0:
            recorders |= {"perf record -a": perf, "perf record -a -g": [*perf, "-g"]}
    except FileNotFoundError:
        print("perf is not here")
    if options.recorders:
        wanted = options.recorders.split(";")
        unknown = [name for name in wanted if name not in recorders]
        if unknown:
            sys.exit(f"overhead: no recorder '{unknown[0]}' here; there are {'; '.join(recorders)}")
        recorders = {name: recorders[name] for name in wanted}
    chance = random.Random(1)
    bound = options.percent / 100 + MOST_ABOVE
    for name in options.workloads.split(","):
        logarithms, own, bare = run(name, recorders, options.seconds, chance)
        print(f"{name}: {copies(name)} copies of {statistics.fmean(bare):.2f} s, {len(bare)} rounds")
        for recorder, of in logarithms.items():
            mean, half = interval(of)
            known = math.isfinite(half)
            if known and recorders[recorder] is None:
                verdict = "holds 0" if abs(mean) <= half else "does not hold 0: nothing here says anything"
            else:
                verdict = f"at most {100 * bound:g} %" if mean + half <= bound else "not shown"
            itself = f"{100 * statistics.fmean(own[recorder]):5.2f} % of a CPU" if own[recorder] else "-"
            print(f"  {recorder:32} {100 * mean:+6.2f} % " + (f"+- {100 * half:.2f}" if known else "+- ?   ") +
                  f"  itself {itself:17}  {verdict}", flush=True)


if __name__ == "__main__":
    main()
