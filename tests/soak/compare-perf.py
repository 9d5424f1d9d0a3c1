#!/usr/bin/env python3
"""Compares a culprit profile with a perf recording of the same seconds.

usage: compare-perf.py CELLS PERF_TEXT PERF_PERIOD_NS

CELLS is the output of tests/tools/cells; PERF_TEXT that of
  perf script -F comm,pid,tid,time,ip,event --show-mmap-events --show-task-events --ns

Both sample the same execution independently, so a procedure's times differ by
the noise of two counts: for a and b samples of weights p and q the difference
a*p - b*q has the variance a*p^2 + b*q^2 (p is the estimate over the samples).
perf's clock is CLOCK_MONOTONIC (-k mono); what lies outside culprit's seconds is
left out. Every procedure with at least 100 samples on either side must lie within 4 of those standard errors, and the mean
of the squared deviations (chi2/df) must not pass 1.5; likewise the 4 KiB code
pages of all images together and of the hottest image. Exits 1 when it does not hold.
"""
import bisect
import collections
import re
import struct
import sys
import time

PAGE = 4096


def elf_facts(path, cache={}):
    """(build-id in hex, [(offset, vaddr, size)]) of a file, or None."""
    if path in cache:
        return cache[path]
    cache[path] = None
    try:
        with open(path, "rb") as file:
            data = file.read(1 << 20)
    except OSError:
        return None
    if data[:5] != b"\x7fELF\x02":
        return None
    phoff, = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    loads, build_id = [], None
    for i in range(count):
        kind, _, offset, vaddr, _, filesz = struct.unpack_from("<IIQQQQ", data, phoff + i * size)
        if kind == 1:
            loads.append((offset, vaddr, filesz))
        if kind == 4:
            build_id = build_id or note_build_id(data[offset:offset + filesz])
    cache[path] = (build_id, loads)
    return cache[path]


def note_build_id(note):
    at = 0
    while at + 12 <= len(note):
        namesz, descsz, kind = struct.unpack_from("<III", note, at)
        desc = at + 12 + (namesz + 3 & ~3)
        if kind == 3 and note[at + 12:at + 12 + namesz] == b"GNU\0":
            return note[desc:desc + descsz].hex()
        at = desc + (descsz + 3 & ~3)
    return None


class Process:
    def __init__(self, maps=None):
        self.maps = list(maps or [])  # (start, end, pgoff, path); later ones win

    def find(self, ip):
        for start, end, pgoff, path in reversed(self.maps):
            if start <= ip < end:
                return path, ip - start + pgoff
        return None


MMAP = re.compile(r"PERF_RECORD_MMAP2? (-?\d+)/(-?\d+): \[0x([0-9a-f]+)\(0x([0-9a-f]+)\) @ (0x[0-9a-f]+|0) "
                  r".*\]: ([-rwxsp]{4}) (.*)$")
FORK = re.compile(r"PERF_RECORD_FORK\((\d+):(\d+)\):\((\d+):(\d+)\)")
EXEC = re.compile(r"PERF_RECORD_COMM exec: .*:(\d+)/(\d+)$")
SAMPLE = re.compile(r"^\s*.*?\s+(\d+)/(\d+)\s+([\d.]+):\s+(?:\d+\s+)?\S+:?\s+([0-9a-f]+)\s*$")


def kernel_text():
    start = None
    with open("/proc/kallsyms") as symbols:
        for line in symbols:
            address, _, name = line.split()[:3]
            if name == "_stext":
                start = int(address, 16)
    return start


def read_perf(path, first, last):
    """Samples from `first` to `last` (CLOCK_MONOTONIC, s) as {(image key, vaddr): count}; the kernel's key is 'kernel'."""
    stext = kernel_text()
    processes = collections.defaultdict(Process)
    counts = collections.Counter()
    with open(path, errors="surrogateescape") as lines:
        for line in lines:
            line = line.rstrip("\n")
            found = MMAP.search(line)
            if found:
                pid, _, start, length, pgoff, prot, name = found.groups()
                if "x" in prot and int(pid) >= 0:
                    start = int(start, 16)
                    processes[int(pid)].maps.append(
                        (start, start + int(length, 16), int(pgoff, 0), name))
                continue
            found = FORK.search(line)
            if found:
                pid, _, parent, _ = map(int, found.groups())
                if pid != parent:
                    processes[pid] = Process(processes[parent].maps)
                continue
            found = EXEC.search(line)
            if found:
                processes[int(found.group(1))] = Process()
                continue
            if "PERF_RECORD_" in line:
                continue
            found = SAMPLE.match(line)
            if not found:
                continue
            if not first <= float(found.group(3)) <= last:
                continue
            pid, ip = int(found.group(1)), int(found.group(4), 16)
            if ip >> 63:
                counts[("kernel", ip - stext)] += 1
                continue
            place = processes[pid].find(ip)
            facts = place and elf_facts(place[0])
            if not facts or not facts[0]:
                counts[("other", 0)] += 1
                continue
            for offset, vaddr, size in facts[1]:
                if offset <= place[1] < offset + size:
                    counts[(facts[0], place[1] - offset + vaddr)] += 1
                    break
            else:
                counts[("other", 0)] += 1
    return counts


def read_culprit(path):
    counts = collections.Counter()
    times = collections.Counter()
    functions = collections.defaultdict(dict)  # image -> first -> (last, name)
    since_boot = time.clock_gettime(time.CLOCK_MONOTONIC) - time.time()
    window = None
    with open(path, errors="surrogateescape") as lines:
        for line in lines:
            field = line.rstrip("\n").split("\t")
            if field[0] == "source":
                start = int(field[1]) / 1e9 + since_boot
                window = (start, start + int(field[2]) / 1e9)
            if field[0] != "cell":
                continue
            _, _, kind, image, vaddr, samples, estimate, first, last, name = field[:10]
            key = "kernel" if kind == "kernel" else image if kind in ("file", "module") else "other"
            vaddr = int(vaddr, 16) if key != "other" else 0
            counts[(key, vaddr)] += int(samples)
            times[(key, vaddr)] += int(estimate)
            if first != "-":
                functions[key][int(first, 16)] = (int(last, 16), name)
    return counts, times, functions, window


def fold_strangers(counts, shared):
    """Images that only one side could read (gone since, or in a container) become one."""
    folded = collections.Counter()
    for (image, vaddr), samples in counts.items():
        folded[(image, vaddr) if image in shared else ("other", 0)] += samples
    return folded


def by_procedure(counts, functions):
    starts = {image: sorted(known) for image, known in functions.items()}
    sums = collections.Counter()
    # A function that culprit never met has no extent here; the pages below cover it.
    for (image, vaddr), samples in counts.items():
        if image == "other":
            continue  # containers and deleted files, which only culprit can name
        known = starts.get(image, [])
        at = bisect.bisect_right(known, vaddr) - 1
        if at >= 0 and vaddr <= functions[image][known[at]][0]:
            sums[(image, functions[image][known[at]][1] + "@%x" % known[at])] += samples
    return sums


# Equal recordings fail one time in about a thousand: 1e-4 for each of the three sums of squares (3.72
# standard errors, through Wilson and Hilferty's cube root), 7e-6 for each single row.
WORST = 4.5


def chi2_limit(degrees):
    spread = 2 / (9 * degrees)
    return (1 - spread + 3.72 * spread ** 0.5) ** 3


def compare(title, ours, our_times, theirs, period):
    deviations = []
    for key in set(ours) | set(theirs):
        a, b = ours.get(key, 0), theirs.get(key, 0)
        if max(a, b) < 100:
            continue
        estimate = our_times.get(key, 0)
        variance = (estimate * estimate / a if a else 0) + b * period * period
        z = (estimate - b * period) / variance ** 0.5
        deviations.append((abs(z), z, estimate, a, b, key))
    if not deviations:
        sys.exit("compare-perf: nothing has 100 samples: record longer")
    chi2 = sum(d[0] ** 2 for d in deviations) / len(deviations)
    worst = max(deviations)
    print(f"{title}: {len(deviations)} with >= 100 samples, chi2/df {chi2:.2f}, "
          f"limit {chi2_limit(len(deviations)):.2f}, worst {worst[0]:.1f} standard errors")
    for _, z, estimate, a, b, key in sorted(deviations, reverse=True)[:5]:
        print(f"  {z:+5.1f}  culprit {estimate / 1e6:9.1f} ms ({a})  perf {b * period / 1e6:9.1f} ms ({b})"
              f"  {key}")
    return chi2 <= chi2_limit(len(deviations)) and worst[0] <= WORST


def pages(counts):
    sums = collections.Counter()
    for (image, vaddr), samples in counts.items():
        if image != "other":
            sums[(image, vaddr // PAGE)] += samples
    return sums


def of_image(sums, image):
    return {key: samples for key, samples in sums.items() if key[0] == image}


def main():
    cells, perf_text, period = sys.argv[1], sys.argv[2], float(sys.argv[3])
    ours, times, functions, window = read_culprit(cells)
    theirs = read_perf(perf_text, *window)
    shared = {image for image, _ in ours} & {image for image, _ in theirs}
    ours, times, theirs = (fold_strangers(side, shared) for side in (ours, times, theirs))
    apart = [sum(n for key, n in side.items() if key[0] == "other") for side in (ours, theirs)]
    print(f"left out, in images that one side cannot read: culprit {apart[0]}, perf {apart[1]}")
    print(f"samples: culprit {sum(ours.values())}, perf {sum(theirs.values())}")
    good = compare("procedures", by_procedure(ours, functions), by_procedure(times, functions),
                   by_procedure(theirs, functions), period)
    ours, times, theirs = pages(ours), pages(times), pages(theirs)
    good = compare("code pages of all images", ours, times, theirs, period) and good
    per_image = collections.Counter()
    for (image, _), samples in ours.items():
        per_image[image] += samples
    hottest = per_image.most_common(1)[0][0]
    good = compare(f"code pages of the hottest image, {hottest}", of_image(ours, hottest),
                   of_image(times, hottest), of_image(theirs, hottest), period) and good
    sys.exit(0 if good else 1)


main()
