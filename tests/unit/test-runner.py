#!/usr/bin/env python3
"""The test runner counts what happened: no crash, hang or mismatch passes."""

import importlib.machinery
import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(sys.argv[1])
sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader("run_tests", str(SOURCE / "tools/run-tests"))
spec = importlib.util.spec_from_loader("run_tests", loader)
run_tests = importlib.util.module_from_spec(spec)
loader.exec_module(run_tests)


def expect(what, actual, wanted):
    if actual != wanted:
        sys.exit(f"{what}: {actual!r}, wanted {wanted!r}")


def counted(result, stdout, returncode=0):
    record = {"name": "culprit:unit / x", "result": result, "stdout": stdout, "returncode": returncode}
    return run_tests.count(run_tests.of_test(record))


CMOCKA = """[==========] Running 3 test(s).
[ RUN      ] a
[       OK ] a
[ RUN      ] b
no rights here
[  SKIPPED ] b
[ RUN      ] c
"""
expect("cmocka, all well", counted("OK", CMOCKA + "[       OK ] c\n"), "2 passed, 0 failed, 1 skipped")
expect("cmocka, one fails", counted("FAIL", CMOCKA + "[  FAILED  ] c\n[  FAILED  ] 1 test(s)\n[  FAILED  ] c\n", 1),
       "1 passed, 1 failed, 1 skipped")
expect("cmocka, dies in c", counted("FAIL", CMOCKA, -11), "1 passed, 1 failed, 1 skipped")
expect("cmocka, dies after c", counted("FAIL", CMOCKA + "[       OK ] c\n", -6), "2 passed, 1 failed, 1 skipped")
expect("cmocka, a name that is said twice", counted("OK", CMOCKA + "[       OK ] c\n[       OK ] c\n"),
       "2 passed, 0 failed, 1 skipped")
expect("TAP", counted("OK", "1..3\nok 1 - a\nok 2 - b # SKIP no rights\nnot ok 3 - c\n# why\n"),
       "1 passed, 1 failed, 1 skipped")
expect("TAP, one too few", counted("ERROR", "1..3\nok 1 - a\nok 2 - b\n"), "2 passed, 1 failed, 0 skipped")
expect("TAP, none", counted("SKIP", "1..0 # SKIP no network\n"), "0 passed, 0 failed, 1 skipped")
expect("TAP, dies after the last", counted("ERROR", "1..1\nok 1 - a\n", -9), "1 passed, 1 failed, 0 skipped")
expect("plain, well", counted("OK", "whatever\n"), "1 passed, 0 failed, 0 skipped")
expect("plain, skipped", counted("SKIP", "no rights\n", 77), "0 passed, 0 failed, 1 skipped")
expect("plain, timeout", counted("TIMEOUT", "", -15), "0 passed, 1 failed, 0 skipped")
expect("plain, failed", counted("FAIL", "", 1), "0 passed, 1 failed, 0 skipped")


def scripts(options, **files):
    """What run-scripts says about scripts; culprit is /bin/true."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            (pathlib.Path(folder) / name.replace("_", ".")).write_text(text)
        done = subprocess.run([SOURCE / "tests/run-scripts", *options, folder], capture_output=True, text=True,
                              env=os.environ | {"CULPRIT": "/bin/true"})
        return done.returncode, [line for line in done.stdout.splitlines() if not line.startswith("#")]


expect("a script that passes", scripts([], a_sh="culprit"), (0, ["1..1", "ok 1 - a"]))
expect("a script that fails in the middle", scripts([], a_sh="false\ntrue"), (1, ["1..1", "not ok 1 - a"]))
expect("a script that skips", scripts([], a_sh="echo no rights; exit 77"), (0, ["1..1", "ok 1 - a # SKIP no rights"]))
expect("a script that hangs", scripts(["--timeout", "0.2"], a_sh="sleep 60"), (1, ["1..1", "not ok 1 - a"]))
expect("a script that is killed", scripts([], a_sh="kill -9 $$"), (1, ["1..1", "not ok 1 - a"]))
expect("golden, the same", scripts(["--golden"], a_sh="echo x; pwd", a_out="x\nDIR\n"), (0, ["1..1", "ok 1 - a"]))
expect("golden, other output", scripts(["--golden"], a_sh="echo y", a_out="x\n"), (1, ["1..1", "not ok 1 - a"]))
expect("golden, output where none is wanted", scripts(["--golden"], a_sh="echo y >&2"), (1, ["1..1", "not ok 1 - a"]))
expect("golden, a newline less", scripts(["--golden"], a_sh="printf x", a_out="x\n"), (1, ["1..1", "not ok 1 - a"]))
expect("golden, other status", scripts(["--golden"], a_sh="exit 3"), (1, ["1..1", "not ok 1 - a"]))
expect("golden, wanted status", scripts(["--golden"], a_sh="exit 3", a_status="3\n"), (0, ["1..1", "ok 1 - a"]))
# each waits for the other
MEETS = {"a_sh": ': >"$SHARED/a"; until [ -e "$SHARED/b" ]; do sleep 0.01; done',
         "b_sh": ': >"$SHARED/b"; until [ -e "$SHARED/a" ]; do sleep 0.01; done'}
expect("scripts beside others", scripts(["--jobs", "2"], **{name: "# beside others\n" + text for name, text in MEETS.items()}),
       (0, ["1..2", "ok 1 - a", "ok 2 - b"]))
expect("scripts one at a time", scripts(["--jobs", "2", "--timeout", "3"], **MEETS),
       (1, ["1..2", "not ok 1 - a", "ok 2 - b"]))

CHOICE = re.compile(r"\$\{([A-Z_]+):-")
choices = {name for folder in ("tests/cli", "tests/system", "tests/corpus", "tests/soak", "bench")
           for script in (SOURCE / folder).rglob("*.sh") for name in CHOICE.findall(script.read_text())}
expect("enough variables that choose another form of a script", len(choices) > 5, True)
for name in sorted(choices):
    os.environ[name] = "chosen"
    expect(f"{name}, which a script reads", scripts([], a_sh=f'[ "${{{name}:-}}" = chosen ]'), (0, ["1..1", "ok 1 - a"]))
