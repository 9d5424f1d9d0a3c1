#!/usr/bin/env python3
"""tools/coverage counts the lines that ran: those of a program of three functions, one of which does not."""

import importlib.machinery
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader("coverage", str(pathlib.Path(sys.argv[1]) / "tools/coverage"))
coverage = importlib.util.module_from_spec(importlib.util.spec_from_loader("coverage", loader))
loader.exec_module(coverage)

PROGRAM = """int never(int n);
int never(int n)
{
	n++;
	return n;
}
static int half(int n)
{
	if (n > 1000)
		return 7;
	return n;
}
int main(void)
{
	return half(0) + half(0);
}
"""


def expect(what, actual, wanted):
    if actual != wanted:
        sys.exit(f"{what}: {actual!r}, wanted {wanted!r}")


if not shutil.which("gcc") or not shutil.which("gcov"):
    print("no gcc with gcov here")
    sys.exit(77)
with tempfile.TemporaryDirectory() as name:
    top = pathlib.Path(name).resolve()
    coverage.SOURCE, coverage.BUILD = top, top / "build-coverage"
    place = coverage.BUILD / "src/part/libpart.a.p"
    (top / "src/part").mkdir(parents=True)
    (top / "results").mkdir()
    place.mkdir(parents=True)
    (top / "src/part/program.c").write_text(PROGRAM)
    built = place / "program.c.o"
    subprocess.run(["gcc", "--coverage", "-O0", "-c", "../src/part/program.c", "-o", built], cwd=coverage.BUILD, check=True)
    subprocess.run(["gcc", "--coverage", built, "-o", top / "program"], check=True)

    # Nobody has run it yet: all lines are there, and none of them ran.
    lines, functions = coverage.measure("part", top / "results")
    expect("files", sorted(lines), ["program.c"])
    expect("ran before", sum(lines["program.c"].values()), 0)

    environment = os.environ | {"GCOV_PREFIX": str(top / "results/counts")}
    environment.pop("GCOV_PREFIX_STRIP", None)
    subprocess.run([top / "program"], env=environment, check=True)
    lines, functions = coverage.measure("part", top / "results")
    known = {f.name: f for f in coverage.of_functions(lines["program.c"], functions["program.c"])}
    expect("functions", {name: (f.line, f.entered, f.lines, f.missed) for name, f in known.items()},
           {"never": (2, False, 3, 3), "half": (7, True, 4, 1), "main": (13, True, 2, 0)})
    expect("runs of a line", lines["program.c"]["half", 9], 2)

    # A room of the folder has its name before that of the file.
    (top / "src/part/room").mkdir()
    (top / "src/part/room/program.c").write_text(PROGRAM)
    built = place / "room_program.c.o"
    subprocess.run(["gcc", "--coverage", "-O0", "-c", "../src/part/room/program.c", "-o", built], cwd=coverage.BUILD, check=True)
    lines, functions = coverage.measure("part", top / "results")
    expect("files", sorted(lines), ["program.c", "room/program.c"])
