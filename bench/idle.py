"""What a daemon does to an idle machine: interrupts and switches a second with it and without.

usage: idle.py [--seconds S] [--rounds N] CULPRIT

By turns, for S seconds each: nobody, `culprit daemon` as it is, without stacks, and `perf record -a` at the rate that the
daemon's budget buys. Counted are the machine's interrupts (/proc/interrupts), each of which ends the sleep of an idle CPU;
its switches between tasks (/proc/stat); how often the recorder and its helpers woke up (voluntary switches) and the CPU
time that they took. A recorder has begun some seconds before. Of all rounds the median is printed, and the least and most.
"""
import argparse
import importlib.util
import pathlib
import statistics
import subprocess
import sys
import time

sys.dont_write_bytecode = True  # beside the sources
specification = importlib.util.spec_from_file_location("overhead", pathlib.Path(__file__).with_name("overhead.py"))
overhead = importlib.util.module_from_spec(specification)
specification.loader.exec_module(overhead)

SETTLED_S = 8


def interrupts():
    """By what they are for: the timer's, those between CPUs, and the others."""
    timer = between = others = 0
    with open("/proc/interrupts") as file:
        cpus = len(file.readline().split())
        for line in file:
            name, _, rest = line.partition(":")
            count = sum(int(field) for field in rest.split()[:cpus] if field.isdigit())
            if name.strip() in ("LOC", "arch_timer") or "arch_timer" in rest:
                timer += count
            elif name.strip() in ("RES", "CAL", "TLB") or name.strip().startswith("IPI"):
                between += count
            elif name.strip() not in ("ERR", "MIS"):
                others += count
    return timer, between, others


def switches():
    with open("/proc/stat") as file:
        return int(next(line for line in file if line.startswith("ctxt")).split()[1])


def woken(pid):
    """Voluntary switches of a process, its threads and its helpers."""
    total = 0
    children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    for process in [pid, *children]:
        for status in pathlib.Path(f"/proc/{process}/task").glob("*/status"):
            try:
                text = status.read_text()
            except OSError:
                continue
            total += int(text.split("\nvoluntary_ctxt_switches:")[1].split()[0])
    return total


def measure(command, seconds):
    recorder = overhead.Recorder(command) if command else None
    time.sleep(SETTLED_S if command else 1)
    before = [*interrupts(), switches()]
    own = (woken(recorder.process.pid), recorder.own()) if recorder else (0, 0)
    begin = time.monotonic()
    time.sleep(seconds)
    took = time.monotonic() - begin
    after = [*interrupts(), switches()]
    own_after = (woken(recorder.process.pid), recorder.own()) if recorder else (0, 0)
    if recorder:
        recorder.end()
    rates = [(b - a) / took for a, b in zip(before, after)]
    return [*rates, (own_after[0] - own[0]) / took, 100 * (own_after[1] - own[1]) / took]


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("culprit")
    options = parser.parse_args()
    rate, cost_us = overhead.sample_cost(options.culprit, 1)
    with open("/proc/loadavg") as load:
        print(f"machine: {overhead.processor()}, {overhead.CPUS} CPUs, load {load.read().split()[0]}; 1 % buys {rate} samples a second "
              f"and CPU, each costs {cost_us} us")
    daemon = [options.culprit, "daemon", "--config", "/dev/null", "--no-socket", "-o", "db"]
    recorders = {"nobody": None, "culprit daemon": daemon, "culprit daemon --no-stacks": [*daemon, "--no-stacks"]}
    perf = ["perf", "record", "-q", "-a", "-F", str(rate), "-o", "perf.data"]
    try:
        if subprocess.run([*perf, "--", "true"], capture_output=True).returncode == 0:
            recorders["perf record -a"] = perf
    except FileNotFoundError:
        print("perf is not here")
    results = {name: [] for name in recorders}
    for _ in range(options.rounds):
        for name, command in recorders.items():
            results[name].append(measure(command, options.seconds))
    print("a second: interrupts of timers, between CPUs, others; switches between tasks; how often the recorder woke up; % of a CPU that "
          "it took itself")
    for name, rounds in results.items():
        columns = [f"{statistics.median(column):.1f} ({min(column):.1f}-{max(column):.1f})" if len(rounds) > 1
                   else f"{column[0]:.1f}" for column in zip(*rounds)]
        print(f"  {name:28} " + "  ".join(f"{column:>16}" for column in columns), flush=True)


if __name__ == "__main__":
    sys.exit(main())
