"""What the daemon's overhead is made of, and the room that it takes: Tables 4 and 5 of the paper on DCPI.

usage: daemon-parts.py [--seconds S] [--percent P] [--workloads NAME,...] CULPRIT

A workload of overhead.py runs again and again on all CPUs beside a daemon that has an epoch of its own for
it. Time is what the daemon's own figures say (culprit-daemon(1), --metrics): of one sample in 64 how long
the program in the kernel took, by whether the place was in its table; the CPU time of the daemon and its
helpers, by the samples. Memory is read ten times a second: the proportional resident memory of the daemon
and its helpers, and the kernel's maps and tables (memlock of /proc/PID/fdinfo).
"""
import argparse
import importlib.util
import json
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True  # beside the sources
specification = importlib.util.spec_from_file_location("overhead", pathlib.Path(__file__).with_name("overhead.py"))
overhead = importlib.util.module_from_spec(specification)
specification.loader.exec_module(overhead)

WARM_S = 5  # what the daemon reads of programs that run already is not the workload's


def descendants(pid):
    """A process and its helpers."""
    found = [pid]
    for task in found:
        try:
            found += [int(child) for child in pathlib.Path(f"/proc/{task}/task/{task}/children").read_text().split()]
        except OSError:
            continue
    return found


def resident_bytes(pid):
    total = 0
    for task in descendants(pid):
        try:
            total += 1024 * int(re.search(r"^Pss:\s+(\d+)", pathlib.Path(f"/proc/{task}/smaps_rollup").read_text(), re.M)[1])
        except (OSError, TypeError):  # it has ended
            continue
    return total


def map_bytes(pid):
    """Of the kernel's maps that it holds, each once."""
    maps = {}
    for descriptor in os.listdir(f"/proc/{pid}/fdinfo"):
        try:
            text = pathlib.Path(f"/proc/{pid}/fdinfo/{descriptor}").read_text()
        except OSError:
            continue
        number, size = re.search(r"^map_id:\s+(\d+)", text, re.M), re.search(r"^memlock:\s+(\d+)", text, re.M)
        if number and size:
            maps[number[1]] = int(size[1])
    return sum(maps.values())


class Watch(threading.Thread):
    """Memory of the daemon, and the files whose code is mapped while it runs."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.over = pid, threading.Event()
        self.resident, self.files, self.maps = [], {}, 0
        self.start()

    def run(self):
        while not self.over.wait(0.1):
            try:
                self.maps = max(self.maps, map_bytes(self.pid))
                self.resident.append(resident_bytes(self.pid))
            except OSError:  # it has ended, with its epoch
                return
            for process in filter(str.isdigit, os.listdir("/proc")):
                try:
                    maps = pathlib.Path(f"/proc/{process}/maps").read_text()
                except OSError:
                    continue
                for path in set(re.findall(r"^\S+ ..x. .* (/.*)$", maps, re.M)) - self.files.keys():
                    try:
                        self.files[path] = os.stat(path).st_size
                    except OSError:
                        continue


def metrics():
    with open("metrics") as file:
        return {line.split()[0]: float(line.split()[1]) for line in file if not line.startswith("#")}


def timed(figures, kind):
    """How many samples were timed, and what one took in ns."""
    count = figures.get(f'culprit_kernel_sample_seconds_count{{kind="{kind}"}}', 0)
    total = figures.get(f'culprit_kernel_sample_seconds_sum{{kind="{kind}"}}', 0)
    return count, 1e9 * total / count if count else None


def number(value, form="{:.0f}"):
    return "?" if value is None else form.format(value)


def disk_bytes(top, wanted):
    return sum(path.stat().st_size for path in pathlib.Path(top).rglob("*")
               if path.is_file() and (path.suffix == ".prof") == wanted)


def run(name, daemon, culprit, seconds):
    """One epoch beside a workload: figures of its end less those of its beginning."""
    command, count = overhead.prepare(name), overhead.copies(name)
    subprocess.run(["rm", "-rf", "db", "metrics"], check=True)
    process = subprocess.Popen([*daemon, "--metrics", "metrics", "-o", "db", "--socket", "socket"], stderr=subprocess.PIPE)
    while not overhead.has_events(process.pid) or not os.path.exists("socket"):
        if process.poll() is not None:
            sys.exit(f"daemon-parts: {process.stderr.read().decode()}")
        time.sleep(0.02)
    time.sleep(WARM_S)
    subprocess.run([culprit, "ctl", "--socket", "socket", "epoch"], check=True, stdout=subprocess.DEVNULL)
    time.sleep(1)  # the metrics are written once a second
    before = metrics()
    watch = Watch(process.pid)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        overhead.timed(command, count)
    process.send_signal(signal.SIGINT)
    said = process.communicate()[1]
    watch.over.set()
    watch.join()
    if process.returncode:
        sys.exit(f"daemon-parts: the daemon ended with {process.returncode}: {said.decode()}")
    after = metrics()
    figures = {item: value - before.get(item, 0) for item, value in after.items()}
    epoch = sorted(pathlib.Path("db").glob("*/*.prof"))[-1]
    report = json.loads(subprocess.run([culprit, "report", "--json", "--by", "image", "--min", "0", "--limit", "0", str(epoch)],
                                       check=True, capture_output=True).stdout)
    images = {row["image"] for row in report["rows"]}
    executables = sum(size for path, size in watch.files.items() if os.path.basename(path) in images)
    entries = report["collector"]["table_entries"]
    flat = report["events"][0]["bill"]["stored_samples"]
    return {"figures": figures, "watch": watch, "profile": epoch.stat().st_size, "executables": executables,
            "packs": disk_bytes("db", False), "entries": entries, "flat": flat}


def print_time(name, kind, result):
    figures = result["figures"]
    samples, busy = figures["culprit_samples_total"], figures["culprit_machine_busy_seconds_total"]
    hits, hit_ns = timed(figures, "hit")
    misses, miss_ns = timed(figures, "miss")
    stacks, stack_ns = timed(figures, "stack")
    miss_percent = 100 * misses / (hits + misses) if hits + misses else None
    own = figures["culprit_cpu_seconds_total"]
    evicted = 100 * result["entries"] / result["flat"] if result["entries"] is not None and result["flat"] else None
    print(f"{name:12} {kind:9} {samples:9.0f} {number(miss_percent, '{:.1f}'):>7} {number(hit_ns):>7} {number(miss_ns):>7} "
          f"{number(stack_ns):>8} {number(evicted, '{:.1f}'):>9} {1e6 * own / samples if samples else 0:9.2f} "
          f"{100 * own / busy if busy else 0:7.2f}", flush=True)


def print_space(name, kind, result):
    watch = result["watch"]
    samples = result["figures"]["culprit_samples_total"]
    print(f"{name:12} {kind:9} {statistics.fmean(watch.resident) / 1e6:9.1f} {max(watch.resident) / 1e6:7.1f} {watch.maps / 1e6:7.1f} "
          f"{result['profile'] / 1e3:9.1f} {result['profile'] / samples if samples else 0:7.2f} {result['packs'] / 1e3:9.1f} "
          f"{result['executables'] / 1e6:9.1f} {100 * result['profile'] / result['executables'] if result['executables'] else 0:8.3f}",
          flush=True)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--percent", type=float, default=1)
    parser.add_argument("--workloads", default="loop")
    parser.add_argument("culprit")
    options = parser.parse_args()
    rate, cost_us = overhead.sample_cost(options.culprit, options.percent)
    print(f"machine: {overhead.processor()}, {overhead.CPUS} CPUs")
    print(f"budget {options.percent:g} %: {rate} samples a second and CPU; each costs {cost_us} us with its interrupt")
    daemon = [options.culprit, "daemon", "--config", "/dev/null", "--overhead", str(options.percent)]
    kinds = {"flat": [*daemon, "--no-stacks"], "+ stacks": daemon}
    results = {(name, kind): run(name, command, options.culprit, options.seconds)
               for name in options.workloads.split(",") for kind, command in kinds.items()}
    print("time: how often a place is not in the table; ns of the program in the kernel; entries that leave the table, of 100 samples;\n"
          "the daemon's CPU time in us a sample, and of the busy time\n"
          "work         recorder    samples  miss %  hit ns miss ns stack ns  of 100   us each  % busy")
    for (name, kind), result in results.items():
        print_time(name, kind, result)
    print("space: MB of resident memory in the mean and at most, of it and of the kernel's maps; kB of the epoch, bytes a sample; kB of\n"
          "code packs; MB of the executables that were sampled, and the epoch's size in % of that\n"
          "work         recorder       mean    most    maps     epoch  a sample  packs  executables      %")
    for (name, kind), result in results.items():
        print_space(name, kind, result)


if __name__ == "__main__":
    main()
