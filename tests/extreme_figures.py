"""What culprit says of profiles whose numbers are what nobody measured (tests/tools/make-extreme-profile.c).

Every share in a JSON document lies between 0 and 100 percent or is null, every number is finite, and no text has "inf", "nan",
a figure of more than 40 digits or a percentage above 1000. Those of a difference may be anything finite. A profile whose sums pass
64 bits is refused. EXTREME_SEEDS=A-B takes other seeds.

usage: extreme_figures.py
"""

import json
import os
import pathlib
import re
import subprocess
import sys

TOOLS = pathlib.Path(os.environ["TOOLS"])
VERBS = (
    ["report"],
    ["report", "--inclusive"],
    ["annotate", "f"],
    ["summary"],
    ["cfg"],
    ["diff"],
)
OF_A_CHANGE = re.compile(r"^(change|growth)_percent")
NONSENSE = re.compile(r"\b(inf|nan)\b|\d{41}|(?<![>\d])\d{4,}(\.\d+)? %")
REFUSED = re.compile(r"sums? past 64 bits|passe?s? 64 bits")

failures = []
documents = 0
refusals = 0


def numbers(value, key=""):
    if isinstance(value, dict):
        for name, part in value.items():
            yield from numbers(part, name)
    elif isinstance(value, list):
        for part in value:
            yield from numbers(part, key)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield key, value


def no_number(word):
    raise ValueError(f"{word} is no number of JSON")


def judge(words, run, is_json):
    global documents
    if not is_json:
        found = NONSENSE.search(run.stdout)
        if found and words[0] != "diff":
            line = run.stdout[run.stdout.rfind("\n", 0, found.start()) + 1 : found.end()]
            failures.append(f"{' '.join(words)}: {line[-160:]}")
        return
    documents += 1
    try:
        document = json.loads(run.stdout, parse_constant=no_number)
    except ValueError as error:
        failures.append(f"{' '.join(words)}: {error}")
        return
    for key, value in numbers(document):
        if "percent" in key and not OF_A_CHANGE.match(key) and not -1e-6 <= value <= 100 + 1e-6:
            failures.append(f"{' '.join(words)}: {key} is {value}")


def main():
    global refusals
    first, last = (int(part) for part in os.environ.get("EXTREME_SEEDS", "1-8").split("-"))
    before = None
    for seed in range(first, last + 1):
        name = f"{seed}.prof"
        subprocess.run([TOOLS / "make-extreme-profile", str(seed), name], check=True)
        for verb in VERBS:
            for is_json in (False, True):
                inputs = [before or name, name] if verb[0] == "diff" else [name]
                words = verb[:1] + ["--stash-only"] + (["--json"] if is_json else []) + verb[1:] + inputs
                run = subprocess.run(["culprit"] + words, capture_output=True, text=True, check=False)
                if run.returncode == 0:
                    judge(words, run, is_json)
                elif run.returncode != 1 or not run.stderr.startswith("culprit: "):
                    failures.append(f"{' '.join(words)}: exit status {run.returncode}: {run.stderr[-200:]}")
                if seed % 8 == 7 and not (run.returncode == 1 and REFUSED.search(run.stderr)):
                    failures.append(f"{' '.join(words)}: not refused: {run.stderr[-200:]}")
                refusals += bool(REFUSED.search(run.stderr))
        if seed % 8 != 7:
            before = name
    for failure in failures:
        print(failure)
    if documents < 20 or not refusals:
        sys.exit(f"{documents} documents and {refusals} refusals are too few to judge by")
    return 1 if failures else 0


sys.exit(main())
