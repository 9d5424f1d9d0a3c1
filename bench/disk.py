"""How much disk a host takes in a week: epochs as large as an hour's, of a steady load and of a compiler.

usage: disk.py [--seconds S] [--rate R] [--epochs N] [--loads steady,compile] [--stacks] [--sources DIR] CULPRIT

An hour at 1,000 samples a second and CPU is replayed in S seconds at R, 3600000 / S for a whole one: of a load
that does not change, the samples fall on the same places either way. Stacks, which the daemon takes of a part of
the samples, are as many a sample as they would be. The steady load is an HTTP server with its client and an
interpreter; the compiler compiles the sources below DIR, each in a process of its own. An epoch's file is there
each hour; packs of code come once for each program.
"""
import argparse
import importlib.util
import itertools
import os
import pathlib
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True  # beside the sources
specification = importlib.util.spec_from_file_location("overhead", pathlib.Path(__file__).with_name("overhead.py"))
overhead = importlib.util.module_from_spec(specification)
specification.loader.exec_module(overhead)

HOURS = 7 * 24
HOUR_SAMPLES = 3600 * 1000  # of a CPU


def steady():
    server, interpreter = overhead.prepare("server"), overhead.prepare("interpreter")
    while True:
        yield [server, interpreter]


def compiler(sources):
    files = sorted(str(path) for path in pathlib.Path(sources).rglob("*.c"))
    if not files:
        sys.exit(f"disk: no C sources below '{sources}'")
    ring = itertools.cycle(files)
    while True:
        yield [["cc", "-O2", "-w", "-c", "-o", f"object{i}", "-I", sources, "-D_GNU_SOURCE", next(ring)]
               for i in range(overhead.CPUS)]


def work(commands, until):
    """Keeps as many running as a step of the load has; a file that does not compile alone is work, too."""
    while time.monotonic() < until:
        for process in [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for command in next(commands)]:
            process.wait()


def bytes_below(top, closed):
    return sum(path.stat().st_size for path in pathlib.Path(top).rglob("*")
               if path.is_file() and (path.suffix == ".prof") == closed)


def run(name, commands, options, kind, more):
    database = f"db-{name}-{kind}"
    daemon = subprocess.Popen([options.culprit, "daemon", "--config", "/dev/null", "-o", database, "--socket", "socket", "-F",
                               str(options.rate), *more], stderr=subprocess.PIPE)
    while not overhead.has_events(daemon.pid) or not os.path.exists("socket"):
        if daemon.poll() is not None:
            sys.exit(f"disk: {daemon.stderr.read().decode()}")
        time.sleep(0.02)
    packs = []
    for _ in range(options.epochs):
        work(commands, time.monotonic() + options.seconds)
        subprocess.run([options.culprit, "ctl", "--socket", "socket", "epoch"], check=True, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 120
        while len(list(pathlib.Path(database).glob("*/*.prof"))) <= len(packs) and time.monotonic() < deadline:
            time.sleep(0.1)
        packs.append(bytes_below(database, False))
    daemon.send_signal(signal.SIGINT)
    daemon.communicate()
    files = sorted(pathlib.Path(database).glob("*/*.prof"))[:options.epochs]
    listed = subprocess.run([options.culprit, "db", "list", "--samples", database], check=True, capture_output=True, text=True).stdout
    sizes = [path.stat().st_size for path in files]
    whole = options.seconds * options.rate / HOUR_SAMPLES
    week = HOURS * sum(sizes) / len(sizes) + packs[-1]
    print(f"{name}, {kind}: epochs of {', '.join(f'{size / 1e3:.1f}' for size in sizes)} kB, each as of {whole:.2g} hours; packs of code of "
          f"{', '.join(f'{size / 1e6:.2f}' for size in packs)} MB after each; in a week {week / 1e6:.1f} MB", flush=True)
    print("  " + listed.rstrip().replace("\n", "\n  "), flush=True)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--rate", type=int, default=4000)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--loads", default="steady,compile")
    parser.add_argument("--stacks", action="store_true", help="with stacks of one sample in ten, too")
    parser.add_argument("--sources", default=str(pathlib.Path(__file__).resolve().parent.parent / "src"))
    parser.add_argument("culprit")
    options = parser.parse_args()
    print(f"machine: {overhead.processor()}, {overhead.CPUS} CPUs")
    loads = {"steady": steady, "compile": lambda: compiler(options.sources)}
    for name in options.loads.split(","):
        run(name, loads[name](), options, "flat", ["--no-stacks"])
        if options.stacks:
            run(name, loads[name](), options, "with stacks", ["--stacks-frequency", str(max(1, options.rate // 10))])


if __name__ == "__main__":
    main()
