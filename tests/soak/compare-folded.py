#!/usr/bin/env python3
"""Compares two profiles of the same seconds, exported as folded stacks.

usage: compare-folded.py [--spoil] [--same-period] [--before=COMMAND] ONE OTHER

ONE.ns, ONE.samples and OTHER's likewise: `culprit export --all` and the same with --samples.

Both sample the same execution independently. A row of n samples that stand for t has the variance
t*t/n, so the difference of two rows is measured in the root of the sum of both. Compared are leaves (command and
procedure), frames (in how much of a command's time a procedure is on the stack at all), and whole
stacks; rows of at least 100 samples on either side. The mean of the squared deviations (chi2/df)
may be 1.5 at most and each deviation 4 standard errors, or what one of a thousand equal pairs
passes where that is more (few rows there, many rows here). --spoil moves the largest stack of ONE to its caller, which
must be found. --same-period says that both had one fixed period: what a sample stands for, in rows of at least
300 samples and of as many on either side, may differ by 1 %; of rows that hold other samples, too, nothing is
known, as one that follows a delayed one stands for less. More than half of the rows must be as large on either side.
--before=COMMAND says that ONE also holds what processes whose names begin so did before OTHER began and after it
ended: their rows may have more in ONE, and not less. Exits 1 when they disagree.
"""
import collections
import math
import sys

LEAST_SAMPLES = 100
CHI2_MOST = 1.5
WORST = 4
SAME_PERIOD_SAMPLES = 300
SAME_PERIOD_MOST = 0.01


def read(path):
    rows = {}
    with open(path, errors="surrogateescape") as lines:
        for line in lines:
            stack, _, count = line.rstrip("\n").rpartition(" ")
            rows[tuple(stack.split(";"))] = rows.get(tuple(stack.split(";")), 0) + int(count)
    return rows


def keys(stack):
    """(kind, key) of every row that a stack belongs to; each once."""
    command, frames = stack[0], stack[1:]
    yield "leaves", (command, frames[-1] if frames else "")
    for frame in set(frames):
        yield "frames", (command, frame)
    yield "stacks", stack


def tables(name):
    ns, samples = read(f"{name}.ns"), read(f"{name}.samples")
    if set(ns) != set(samples):
        sys.exit(f"compare-folded: {name}: stacks of samples and of time differ")
    return ns, samples


def sums(ns, samples):
    rows = {kind: collections.defaultdict(lambda: [0, 0]) for kind in ("leaves", "frames", "stacks")}
    for stack in ns:
        for kind, key in keys(stack):
            rows[kind][key][0] += ns[stack]
            rows[kind][key][1] += samples[stack]
    return rows


def spoil(ns, samples):
    stack = max(ns, key=lambda stack: ns[stack] if len(stack) > 2 else 0)
    for counts in (ns, samples):
        counts[stack[:-1]] = counts.get(stack[:-1], 0) + counts[stack]
        counts[stack] = 0


def variance(time, count):
    return time * time / count if count else 0


def worst_allowed(rows):
    """So that one comparison of a thousand with as many equal rows fails: Bonferroni, by a normal tail."""
    chance = 1e-3 / rows
    low, high = 0.0, 10.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if math.erfc(middle / math.sqrt(2)) > chance else (low, middle)
    return max(WORST, high)


def chi2_allowed(rows):
    """What one of a thousand sums of squares passes, through Wilson and Hilferty's cube root."""
    spread = 2 / (9 * rows)
    return max(CHI2_MOST, (1 - spread + 3.09 * spread ** 0.5) ** 3)


def compare(kind, ours, theirs, before):
    found = []
    for key in set(ours) | set(theirs):
        (a, n), (b, m) = ours.get(key, (0, 0)), theirs.get(key, (0, 0))
        if max(n, m) < LEAST_SAMPLES:
            continue
        # of a row that one side lacks, the other's samples alone tell how sure that is
        z = (a - b) / math.sqrt(variance(a, n) + variance(b, m))
        if before and key[0].startswith(before) and z > 0:
            continue
        found.append((abs(z), z, a, n, b, m, key))
    if not found:
        sys.exit(f"compare-folded: no {kind} have {LEAST_SAMPLES} samples: record longer")
    found.sort(reverse=True)
    chi2 = sum(row[0] ** 2 for row in found) / len(found)
    limit = worst_allowed(len(found))
    print(f"{kind}: {len(found)} with >= {LEAST_SAMPLES} samples, chi2/df {chi2:.2f} (at most {chi2_allowed(len(found)):.2f}), "
          f"worst {found[0][0]:.1f} standard errors (at most {limit:.1f})")
    for _, z, a, n, b, m, key in found[:6]:
        print(f"  {z:+6.1f}  {a / 1e6:9.1f} ms ({n})  {b / 1e6:9.1f} ms ({m})  {';'.join(key)[-150:]}")
    return chi2 <= chi2_allowed(len(found)) and found[0][0] <= limit


def weights_differ(kind, ours, theirs):
    found = []
    large = 0
    for key in set(ours) & set(theirs):
        (a, n), (b, m) = ours[key], theirs[key]
        large += min(n, m) >= SAME_PERIOD_SAMPLES
        if n == m >= SAME_PERIOD_SAMPLES:
            found.append((abs(a / n / (b / m) - 1), a, n, b, m, key))
    found.sort(reverse=True)
    worst = [row for row in found if row[0] > SAME_PERIOD_MOST]
    print(f"{kind}: {len(found)} of {large} with >= {SAME_PERIOD_SAMPLES} samples have as many, {len(worst)} differ by more than {SAME_PERIOD_MOST:.0%} a sample")
    for share, a, n, b, m, key in found[:3]:
        print(f"  {share:7.1%}  {a} ({n})  {b} ({m})  {';'.join(key)[-150:]}")
    return bool(worst) or len(found) <= large / 2


def main():
    names = [name for name in sys.argv[1:] if not name.startswith("--")]
    one, other = tables(names[0]), tables(names[1])
    if "--spoil" in sys.argv:
        spoil(*one)
    ours, theirs = sums(*one), sums(*other)
    for name, (ns, samples) in zip(names, (one, other)):
        print(f"{name}: {sum(samples.values())} samples, {sum(ns.values()) / 1e9:.3f} s, {len(ns)} stacks")
    before = next((option.partition("=")[2] for option in sys.argv[1:] if option.startswith("--before=")), None)
    verdicts = [compare(kind, ours[kind], theirs[kind], before) for kind in ours]
    if "--same-period" in sys.argv:
        verdicts += [not weights_differ(kind, ours[kind], theirs[kind]) for kind in ours]
    sys.exit(0 if all(verdicts) else 1)


main()
