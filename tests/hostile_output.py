"""Drives every verb with names that would steer a terminal, forge a line or become a formula, and reads what comes out.

Everything that can carry a stranger's text has such a name: processes, threads, control groups, images, procedures,
source files and their lines, events, units, labels, hosts, tables of damaged profiles, recordings of other tools, files and
options on the command line. What is judged is judged by Python's own tables, not by culprit's.

usage: hostile_output.py reports|exchange|live|others

A verb or an export format that is not in CASES fails the test, and so does an option --json that no case uses.
"""

import contextlib
import csv
import io
import itertools
import json
import os
import pathlib
import pty
import re
import socket
import sqlite3
import struct
import subprocess
import sys
import threading
import unicodedata
import xml.etree.ElementTree

sys.dont_write_bytecode = True
from protobuf import varint  # noqa: E402
from terminal import Terminal  # noqa: E402

SOURCE = pathlib.Path(os.environ["SOURCE"])
TOOLS = pathlib.Path(os.environ["TOOLS"])
MARK = b"=HOSTILE"
STEERS = (b"\x1b[2J\x1b[1m\x1b]0;t\x07\x08\x7f\x9b5m\xff\xc2\x9b5m\xc2\x85\xe2\x80\xae\xe2\x81\xa6\xe2\x80\x8e\xd8\x9c"
          b"\xe2\x80\x8b\xe2\x80\xa8\xe2\x80\xa9\xef\xbb\xbf\xf3\xa0\x81\x81\xc2\xad" + b"\xcc\x81" * 12)
MARKUP = b"\"'<b onclick=x>&;,\\%1B"
HOSTILE = MARK + STEERS + b"\t\r\nculprit: FORGED\n" + MARKUP
ONE_LINE = MARK + STEERS.replace(b";", b"") + b"\rculprit: FORGED" + MARKUP.replace(b";", b"")  # for formats of lines
HIDDEN = {"Cc", "Cf", "Zl", "Zp", "Cs"}
# the line that stat overwrites while rounds run (cli/progress.h); nothing of a stranger is in it
PROGRESS = re.compile(rb"\r(?:culprit: (?:round \d+ of \d+|warming up)(?:, about \d+ s left)? )?\x1b\[K")
TERMINAL_STYLES = re.compile(rb"\x1b\[[012]m")

failures = []
seen_options = {}


def fail(what, words):
    failures.append(f"{words}: {what}")


# ---- what comes out


def hidden(text):
    """The first character that people cannot see or a terminal obeys."""
    for character in text:
        point = ord(character)
        if (unicodedata.category(character) in HIDDEN and character != "\n") or point & 0xFFFE == 0xFFFE:
            return f"U+{point:04X}"
    return None


def judge_text(data, words):
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        fail(f"is no UTF-8: {error}", words)
        return ""
    found = hidden(text)
    if found:
        at = next(i for i, c in enumerate(text) if hidden(c))
        fail(f"has {found} in {text[max(0, at - 40):at + 20]!r}", words)
    if any(line.lstrip().startswith("culprit: FORGED") for line in text.split("\n")):
        fail("has a forged line", words)
    return text


def judge_shown(data, words):
    text = judge_text(data, words)
    if re.search("\u0301{5}", text):
        fail("has marks that pile up", words)
    if re.search("(^|\\s)\u0301", text):
        fail("has a mark over what is not the name's", words)


def judge_messages(data, words):
    judge_shown(data, words)
    for line in data.decode(errors="replace").split("\n")[:-1]:
        if not line.startswith(("culprit: ", "  ")):
            fail(f"says without its name: {line!r}", words)


def judge_json(data, words):
    text = judge_text(data, words)
    try:
        json.loads(text)
    except ValueError as error:
        fail(f"is no JSON: {error}", words)


def judge_csv(data, words):
    rows = list(csv.reader(io.StringIO(judge_text(data, words), newline="")))
    for row in rows:
        if len(row) != len(rows[0]):
            fail(f"has a row of {len(row)} cells", words)
        for cell in row:
            if cell[:1] in "=+-@\t\r" and cell and not re.fullmatch(r"-?[0-9.]+(e[-+]?[0-9]+)?", cell):
                fail(f"has a formula: {cell!r}", words)
            if re.search(r"(?:^|;)[=+@\uff1d\uff0b\uff0d\uff20]", cell):
                fail(f"has a formula: {cell!r}", words)


def judge_folded(data, words):
    """Names as they are, but no control character of ASCII and no line that is not a stack."""
    for line in data.split(b"\n")[:-1]:
        if any(c < 0x20 and c != 9 or c == 0x7F for c in line):
            fail(f"has a control character in {line!r}", words)
        if not re.search(rb" [0-9.]+$", line):
            fail(f"has a line that is no stack: {line!r}", words)


def judge_lines(data, words):
    judge_shown(data.replace(b"\t", b" "), words)


def judge_markup(data, words):
    text = judge_text(data, words)
    if "<b onclick" in text:
        fail("has markup of a name", words)
    return text


def judge_svg(data, words):
    try:
        xml.etree.ElementTree.fromstring(judge_markup(data, words))
    except xml.etree.ElementTree.ParseError as error:
        fail(f"is no XML: {error}", words)


def judge_nothing(data, words):
    pass


JUDGES = {"text": judge_shown, "json": judge_json, "csv": judge_csv, "folded": judge_folded, "lines": judge_lines,
          "svg": judge_svg, "html": judge_markup, "binary": judge_nothing}

# ---- what goes in


def in_terminal(command, variables):
    """What a terminal is sent."""
    terminal, end = pty.openpty()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=end, stderr=end, env=variables)
    os.close(end)
    shown = b""
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    process.wait()
    os.close(terminal)
    return PROGRESS.sub(b"", shown.replace(b"\r\n", b"\n"))


ENVIRONMENT = os.environb.copy()
ENVIRONMENT.update({b"TERM": HOSTILE, b"HOME": b"/" + HOSTILE, b"LESS": HOSTILE, b"CULPRIT_PAGER": b"", b"LC_ALL": b"C"})


def drive(verb, *arguments, kind="text", shows=True, file=None):
    """Runs a verb, as a pipe and (text) on a terminal. `shows`: a hostile name must come out. `file`: what it writes."""
    command = [b"culprit", verb.encode(), *(a if isinstance(a, bytes) else str(a).encode() for a in arguments)]
    words = " ".join(repr(word)[2:-1] for word in command).replace(repr(HOSTILE)[2:-1], "HOSTILE")
    seen_options.setdefault(verb, set()).update(command)
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, env=ENVIRONMENT)
    if done.returncode < 0 or done.returncode > 3 and done.returncode not in (126, 127):
        fail(f"ended with {done.returncode}", words)
    judge_messages(done.stderr, words + " (messages)")
    written = read(file) if file else b""
    JUDGES[kind](written if file else done.stdout, words)
    if kind == "binary":
        written = b""
    if shows and b"HOSTILE" not in done.stdout + done.stderr + written:
        fail("shows no hostile name, so it tests nothing", words)
    if kind == "text" and not file:
        judge_shown(in_terminal(command, ENVIRONMENT), words + " (on a terminal)")
        if b"--color" in HELP[verb]:
            coloured = in_terminal(command + [b"--color=always"], ENVIRONMENT)
            judge_shown(TERMINAL_STYLES.sub(b"", coloured), words + " (in colour)")
    return done


def read(path):
    """What a verb wrote; nothing where it wrote nothing, which no judge but the text's takes."""
    if not os.path.exists(path):
        return b""
    with open(path, "rb") as file:
        return file.read()


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, env=ENVIRONMENT).stdout


def message(*fields):
    """A protobuf message of (number, value); values are numbers or bytes."""
    out = b""
    for number, value in fields:
        if isinstance(value, int):
            out += varint(number << 3) + varint(value)
        else:
            out += varint(number << 3 | 2) + varint(len(value)) + value
    return out


def pprof():
    strings = [b"", HOSTILE + b"type", HOSTILE + b"unit", HOSTILE + b"file", HOSTILE + b"function", HOSTILE + b"key",
               HOSTILE + b"label", HOSTILE + b"mapping", HOSTILE + b"comment"]
    return message((1, message((1, 1), (2, 2))), (2, message((1, b"\x01"), (2, b"\x05"), (3, message((1, 5), (2, 6))))),
                   (3, message((1, 1), (2, 0x1000), (3, 0x2000), (5, 7))),
                   (4, message((1, 1), (2, 1), (3, 0x1010), (4, message((1, 1), (2, 7))))),
                   (5, message((1, 1), (2, 4), (3, 4), (4, 3), (5, 1))), *((6, s) for s in strings), (13, 8))


def perf_data():
    """A recording whose strings are replaced in place, by others of their size."""
    data = (SOURCE / "tests/data/perfdata/quipper-singleprocess-3.4.perf.data").read_bytes()
    for name in (b"/lib64/libc-2.15.so\0", b"/usr/sbin/perf\0", b"localhost\0", b"branch-misses\0", b"record\0", b"zsmal"):
        hostile = (b"/=HOSTILE" + STEERS)[:len(name) - 1] if name[:1] == b"/" else STEERS[:len(name) - 1]
        data = data.replace(name, hostile + name[-1:])
    return data


def speedscope():
    text = HOSTILE.decode(errors="replace")
    return json.dumps({"$schema": "https://www.speedscope.app/file-format-schema.json", "name": text, "exporter": text,
                       "shared": {"frames": [{"name": text, "file": text, "line": 3}]},
                       "profiles": [{"type": "sampled", "name": text, "unit": "none", "startValue": 0, "endValue": 5,
                                     "samples": [[0]], "weights": [5]}]}).encode()


def cpu_profile():
    """As gperftools writes it, with the names that `pprof --raw` puts before."""
    words = [0, 3, 0, 10000, 0, 5, 1, 0x1010, 0, 1, 0]
    return (b"--- symbol\nbinary=/" + ONE_LINE + b"\n0x0000000000001010 " + ONE_LINE + b"\n---\n--- profile\n"
            + struct.pack(f"<{len(words)}Q", *words) + b"00001000-00002000 r-xp 00000000 00:00 0 /" + ONE_LINE + b"\n")


RECORDINGS = {
    "folded": lambda: ONE_LINE + b"main;" + ONE_LINE + b"work 5\n",
    "perf-script": lambda: b"# hostname : " + ONE_LINE + b"\n" + ONE_LINE.replace(b" ", b"") + b"  12/13 [001] 1.000000:"
                           b"      10 cycles: \n\t            1010 " + ONE_LINE + b"+0x10 (/" + ONE_LINE + b")\n\n",
    "callgrind": lambda: b"# callgrind format\nversion: 1\ncmd: " + ONE_LINE + b"\nevents: Ir\nob=" + ONE_LINE + b"\nfl="
                         + ONE_LINE + b"\nfn=" + ONE_LINE + b"\n3 5\n",
    "pmcstat": lambda: b"@ " + ONE_LINE.replace(b" ", b"") + b" [7 samples]\n\n100.0%  [7]        " + ONE_LINE
                       + b" @ /" + ONE_LINE + b"\n",
    "speedscope": speedscope,
    "pprof": pprof,
    "cpu-profile": cpu_profile,
    "perf.data": perf_data,
}


def prepare():
    """Files to read; all their names are hostile, too."""
    code = HOSTILE + b"code.prof"
    run(TOOLS / "make-code-profile", "hostile", code)
    twice = HOSTILE + b"twice.prof"
    run("culprit", "db", "merge", twice, code, code)
    root = b"root/" + HOSTILE
    os.makedirs(root + b"/src")
    with open(root + b"/src/compute.c", "wb") as out:
        out.write(b"".join(b"%d " % i + ONE_LINE.replace(b"\r", b"") + b"\r\n" for i in range(30)))
    epochs = b"db/" + HOSTILE + b"host"
    os.makedirs(epochs)
    run("cp", code, epochs + b"/20260101T000000Z.prof")
    damaged = HOSTILE + b"damaged.prof"
    run("cp", code, damaged)
    base = sqlite3.connect(os.fsdecode(damaged))
    table, column = (HOSTILE.decode(errors="replace").replace('"', '""') + end for end in ("table", "column"))
    base.execute(f'create table "{table}" ("{column}" text, blob)')
    base.execute(f'insert into "{table}" values (?, ?)', (HOSTILE.decode(errors="replace"), HOSTILE))
    first = base.execute("select name from sqlite_master where type = 'table' and sql like '%,%'").fetchone()[0]
    names = [row[1] for row in base.execute(f'pragma table_info("{first}")')]
    base.execute(f'alter table "{first}" rename column "{names[-1]}" to "{column}"')
    base.commit()
    base.close()
    run("cp", damaged, epochs + b"/20260102T000000Z.prof")
    for name, make in RECORDINGS.items():
        with open(HOSTILE + name.encode(), "wb") as out:
            out.write(make())
    with open("counts", "wb") as out:
        out.write(b"# callgrind format\nversion: 1\npositions: instr line\nevents: Ir\nob=" + b"/opt/no/program\nfl=/"
                  + ONE_LINE + b"\nfn=" + ONE_LINE + b"\n0x1000 5 100\n0x1004 5 100\n")
    return code, twice, damaged


# ---- verbs


def reads(verb, code, damaged, *more):
    """What every verb that reads profiles says of those that are not there, damaged, or have no such event."""
    drive(verb, *more, "-i", HOSTILE + b"missing")
    drive(verb, *more, "-i", damaged)
    drive(verb, *more, "-i", "db", "--host", HOSTILE, shows=False)
    drive(verb, *more, "-i", code, "--since", HOSTILE)


def drive_report(code, damaged):
    for part in ("procedure", "image", "process", "thread", "cgroup", "container", "line", "address"):
        drive("report", code, "--by", part)
    for options in (["--tree"], ["--inclusive"], ["--callers", HOSTILE + b"other"], ["--callees", HOSTILE + b"other"],
                    ["--focus", "HOSTILE"], ["-v", "--by", "line"], ["--full-names"], ["-e", HOSTILE + b"instructions"]):
        drive("report", code, *options)
    drive("report", "db")
    for part in ("procedure", "process,thread", "line", "image"):
        drive("report", "--json", code, "--by", part, kind="json")
    drive("report", "--json", code, "--tree", kind="json")
    for option in ("--by", "--callers", "--process", "--cgroup", "--service", "--container", "--cpu", "--focus", "--sort", "--min", "-e", "--image"):
        drive("report", code, option, HOSTILE)
    drive("report", code, "--focus", HOSTILE + b"(")
    drive("report", b"--HOSTILE" + STEERS, code)
    reads("report", code, damaged)
    for name in RECORDINGS:
        shown = HOSTILE + name.encode()
        drive("report", shown, "--by", "procedure")
        drive("report", shown, "--json", kind="json")


def drive_annotate(code, twice, damaged):
    compute = HOSTILE + b"compute"
    for options in ([], ["-s"], ["--blocks"], ["--bytes"], ["-M", "intel"], ["--no-source"], ["--image", "program"]):
        drive("annotate", compute, code, "--source-root", "root", *options)
    drive("annotate", code)
    drive("annotate", HOSTILE + b"other", code)
    drive("annotate", compute, code, "--json", "--source-root", "root", kind="json")
    drive("annotate", compute, code, "--diff", code)
    drive("annotate", compute, code, "--diff", code, "--json", kind="json")
    drive("annotate", compute, code, "--diff", twice)
    drive("annotate", HOSTILE, code)
    drive("annotate", compute, code, "--image", HOSTILE)
    drive("annotate", compute, code, "-M", HOSTILE)
    reads("annotate", code, damaged)


def drive_cfg(code, damaged):
    compute = HOSTILE + b"compute"
    drive("cfg", compute, code, "-o", "-", kind="svg")
    drive("cfg", compute, code, "-o", HOSTILE + b"cfg.svg", kind="svg", file=HOSTILE + b"cfg.svg")
    drive("cfg", compute, code, "--json", kind="json")
    drive("cfg", compute, code, "--dot")
    drive("cfg", HOSTILE, code)
    drive("cfg", HOSTILE + b"other", code)
    drive("cfg", compute, code, "--color", HOSTILE)
    drive("cfg", compute, code, "--pipeline", HOSTILE)
    reads("cfg", code, damaged)


def drive_summary(code, damaged):
    drive("summary", code)
    drive("summary", HOSTILE + b"compute", code)
    drive("summary", HOSTILE, code)
    drive("summary", code, "--json", kind="json", shows=False)
    drive("summary", code, "--pipeline", HOSTILE)
    reads("summary", code, damaged)


def drive_accuracy(code, damaged):
    drive("accuracy", "--truth", "counts", code)
    drive("accuracy", "--json", "--truth", "counts", code, kind="json")
    drive("accuracy", "--truth", HOSTILE, code)
    drive("accuracy", "--truth", HOSTILE + b"callgrind", code, shows=False)
    drive("accuracy", "--truth", "counts", "--procedure", HOSTILE, code)
    drive("accuracy", "--probe", HOSTILE, "true")
    drive("accuracy", "--probe", "main", HOSTILE)
    reads("accuracy", code, damaged, "--truth", "counts")


def drive_flame(code, damaged):
    for options, kind in (([], "svg"), (["--html"], "html"), (["--icicle", "--reverse"], "svg"), (["--color", "package"], "svg"),
                          (["--diff", code], "svg"), (["--title", HOSTILE, "--subtitle", HOSTILE], "svg")):
        drive("flame", code, "-o", "-", *options, kind=kind)
    drive("flame", code, shows=False)
    drive("flame", code, "-o", HOSTILE + b"flame.svg", kind="svg", file=HOSTILE + b"flame.svg")
    drive("flame", code, "-o", HOSTILE + b"no/flame.svg")
    for option in ("--color", "-e", "--focus", "--process"):
        drive("flame", code, "-o", "-", option, HOSTILE + b"(")
    drive("flame", code, "-o", "-", "--diff", code, "--per", HOSTILE)
    drive("flame", "-o", "-", "--diff", code, code, "--", code, code, kind="svg")
    drive("flame", code, "-o", "-", "--color", "none", "--scale", HOSTILE, shows=False)
    for name in RECORDINGS:
        drive("flame", HOSTILE + name.encode(), "-o", "-", kind="svg")
    reads("flame", code, damaged, "-o", "-")


def drive_diff(code, twice, damaged):
    for part in ("procedure", "image", "process", "line"):
        drive("diff", twice, code, "--by", part)
    drive("diff", twice, code, "--json", kind="json")
    drive("diff", code, code)
    for option in ("--per", "--by", "-e", "--sort", "--fail-above", "--counts"):
        drive("diff", code, code, option, HOSTILE)
    drive("diff", twice, twice, "--", code, twice)
    drive("diff", twice, "--", code, HOSTILE + b"missing")
    drive("diff", HOSTILE + b"missing", code)
    drive("diff", code, damaged)


def drive_spread(code, twice, damaged):
    for part in ("procedure", "image", "process", "line"):
        drive("spread", twice, code, "--by", part)
    drive("spread", code, code, "--json", kind="json")
    for option in ("--per", "--by", "-e", "--sort", "--counts"):
        drive("spread", code, code, option, HOSTILE)
    drive("spread", HOSTILE + b"missing", code)
    drive("spread", code, damaged)


FORMATS = {"folded": "folded", "perf-script": "lines", "firefox": "lines", "pprof": "binary", "speedscope": "json",
           "csv": "csv", "json": "json", "callgrind": "lines", "pixie": "lines"}


def drive_export(code, damaged):
    listed = drive("export", "-f", HOSTILE, code).stderr.decode(errors="replace")
    wanted = set(re.search("there are: ([^;]*);", listed).group(1).split(", "))
    if wanted != set(FORMATS):
        fail(f"formats are {sorted(wanted)}, not {sorted(FORMATS)}", "export")
    for name, kind in FORMATS.items():
        several = [] if name in ("speedscope", "csv", "json", "pprof", "callgrind", "pixie") else ["-e", HOSTILE + b"instructions"]
        marks = ["--inline"] if name not in ("callgrind", "pixie") else []
        drive("export", "-f", name, code, *several, *marks, kind=kind, shows=kind != "binary")
        if kind != "binary" and name != "folded":
            shown = in_terminal([b"culprit", b"export", b"-f", name.encode(), code,
                                 *(s if isinstance(s, bytes) else s.encode() for s in several)], ENVIRONMENT)
            judge_lines(shown, f"export -f {name} (on a terminal)")
        file = HOSTILE + b"out." + name.encode()
        drive("export", "-f", name, code, *several, "-o", file, kind=kind, file=file, shows=kind != "binary")
    drive("export", code)
    drive("export", code, "-e", HOSTILE)
    drive("export", "-f", "pprof", code, "-o", HOSTILE + b"no/out")
    for recording in RECORDINGS:
        for name in ("csv", "json", "perf-script"):
            drive("export", "-f", name, HOSTILE + recording.encode(), "-e", "*", kind=FORMATS[name])
    reads("export", code, damaged, "-f", "csv")


def drive_import(code):
    drive("import", HOSTILE + b"missing")
    drive("import", code, "-o", "again.prof")
    drive("import", "-f", HOSTILE, HOSTILE + b"folded")
    for name, make in RECORDINGS.items():
        kept = HOSTILE + name.encode()
        drive("import", kept, "-o", HOSTILE + b"kept.prof", shows=False)
        drive("import", kept, "-o", HOSTILE + b"no/kept.prof")
        drive("import", "-f", name, kept, "-e", HOSTILE, "--unit", HOSTILE, "-o", "kept.prof", shows=False)
        drive("report", "kept.prof", shows=name != "perf.data")
        data = make()
        for cut in (len(data) // 2, len(data) - 3):
            with open(HOSTILE + b"cut", "wb") as out:
                out.write(data[:cut])
            drive("import", "-f", name, HOSTILE + b"cut", "-o", "cut.prof", shows=False)
            drive("import", "-f", name, "--force", HOSTILE + b"cut", "-o", "cut.prof", shows=False)
    with open(HOSTILE + b"bad", "wb") as out:
        out.write(b"a;b 5\n" + ONE_LINE + b"\n" + ONE_LINE + b" x\n" + b"a 3\n" * 40)
    drive("import", "-f", "folded", HOSTILE + b"bad", "-o", "bad.prof")
    drive("import", HOSTILE + b"bad", "-o", "bad.prof")


def drive_check(code, damaged):
    drive("check", code, damaged)
    drive("check", "db")
    drive("check", code, damaged, "db", "--json", kind="json")
    drive("check", HOSTILE + b"missing", HOSTILE + b"folded")
    drive("check", damaged, "--save", HOSTILE + b"no/saved")
    drive("check", damaged, "--save", HOSTILE + b"saved.prof")


def drive_db(code, damaged):
    drive("db", "list", "db")
    drive("db", "list", "db", "--json", kind="json")
    drive("db", "list", HOSTILE)
    drive("db", HOSTILE)
    drive("db", "list", "db", "--since", HOSTILE)
    drive("db", "merge", HOSTILE + b"merged.prof", code, "db")
    drive("db", "merge", HOSTILE + b"merged.prof", code, damaged)
    drive("db", "merge", HOSTILE + b"no/merged.prof", code, code)


def drive_record():
    for option in ("-e", "-p", "-t", "-C", "--cgroup", "--duration", "-c", "-F", "--overhead", "--bursts", "--epoch", "-m"):
        drive("record", b"%s=%s" % (option.encode(), HOSTILE) if option == "--bursts" else option,
              *([] if option == "--bursts" else [HOSTILE]), "-o", "none.prof", "true")
    for choice in (b"image:" + HOSTILE, b"cgroup:" + HOSTILE):
        drive("record", "--per-process-of", choice, "-o", "none.prof", "true")
    drive("record", "-o", HOSTILE + b"no/out.prof", "true")
    drive("record", "-o", HOSTILE + b"out.prof", HOSTILE)
    drive("record", b"--HOSTILE" + STEERS)


def drive_stat():
    comment = b": # " + MARK + STEERS  # what a shell says of a name is its own
    for options, kind in ((["-o", "-"], "text"), (["--json", "-o", "-"], "json")):
        drive("stat", "-e", "page-faults", *options, "sh", "-c", comment, kind=kind)
        drive("stat", "-e", "page-faults", *options, "-r", "2", "sh", "-c", comment, kind=kind)
        drive("stat", "-e", "page-faults", *options, "-r", "2", "--seed", "1", "--cmd", comment, "--cmd", "true", kind=kind)
    drive("stat", "-e", "page-faults", "--csv", "-r", "2", "--cmd", comment, "--cmd", "true", kind="csv", shows=False)
    # a thread's name is 15 bytes, and a cell that could be a formula
    name = b"=HOSTILE\x1b[2J\r\n"
    run("cp", "/bin/sleep", name)
    with subprocess.Popen([b"./" + name, b"60"]) as sleeper:
        while name[:4] not in pathlib.Path(f"/proc/{sleeper.pid}/comm").read_bytes():
            pass
        attached = ["-e", "page-faults", "--per-thread", "-p", sleeper.pid, "--timeout", "20"]
        drive("stat", *attached)
        drive("stat", "--csv", *attached, kind="csv")
        drive("stat", "--json", *attached, kind="json")
        drive("stat", "--json", "-I", "10", *attached, kind="lines")
        sleeper.kill()
    os.unlink(name)
    for option in ("-e", "-M", "-p", "-t", "-C", "-I", "-D", "--duration", "--timeout", "--control", "-r", "--warmup", "--seed"):
        drive("stat", option, HOSTILE, "true")
    drive("stat", "--control", b"fifo:" + HOSTILE, "true")
    drive("stat", "--topdown=" + "3", "true", shows=False)
    drive("stat", "-o", HOSTILE + b"no/out", "true")
    drive("stat", "-e", "page-faults", "-o", HOSTILE + b"counts", "true", kind="text", shows=False, file=HOSTILE + b"counts")
    drive("stat", HOSTILE)
    drive("stat", "-e", "page-faults", "-M", b"page-faults+" + HOSTILE, "true")
    drive("stat", "-n", "-r", "2", "--cmd", comment + b"\nexit 1", "--cmd", "true")
    drive("stat", b"--HOSTILE" + STEERS)


def drive_events():
    drive("events", HOSTILE)
    drive("events", "cpu-clock", shows=False)
    drive("events", "encode", HOSTILE)
    drive("events", "encode", b"cpu-clock:" + HOSTILE)
    drive("events", "--json", "cpu-clock", kind="json", shows=False)


def drive_doctor():
    drive("doctor", HOSTILE)
    drive("doctor", shows=False)
    drive("doctor", "--json", kind="json", shows=False)


def drive_daemon():
    for option in ("--config", "-C", "--cgroup", "-e", "-F", "--overhead", "--engine", "--epoch", "--merge-interval", "--memory"):
        drive("daemon", "--no-socket", "-o", "none.db", *([] if option == "--config" else ["--config", "/dev/null"]), option, HOSTILE)
    drive("daemon", "--config", "/dev/null", "--check-config", "-e", "cpu-clock", "-o", HOSTILE, "--socket", HOSTILE, "--metrics", HOSTILE)
    drive("daemon", "--config", "/dev/null", "--no-socket", "-e", "cpu-clock", "-o", HOSTILE + b"no/db")
    for choice in (HOSTILE + b"*", b"image:/" + HOSTILE):
        drive("daemon", "--config", "/dev/null", "--check-config", "-e", "cpu-clock", "-o", "none.db", "--per-process-of", choice)
    drive("daemon", "--config", "/dev/null", HOSTILE)
    for line in (HOSTILE.replace(b"=", b""), b"event = " + ONE_LINE, b"epoch = " + ONE_LINE):
        pathlib.Path("settings").write_bytes(line)
        drive("daemon", "--config", "settings", "--check-config", "-o", "none.db")
    os.unlink("settings")


def answer_as_daemon(listener, answer):
    """Something that answers where a daemon should, with answer(REQUEST); clients may be gone by then."""
    while True:
        try:
            client, _ = listener.accept()
        except OSError:
            return
        with client, contextlib.suppress(ConnectionError):
            client.sendall(answer(client.recv(1024).strip()))


def framed(body):
    return b"ok %d\n" % len(body) + body


def drive_ctl():
    text = HOSTILE.decode("latin-1")
    status = {"state": text, "reason": text, "version": text, "pid": 1, "start_ns": 1e18, "seconds": 1, "database": text,
              "epoch_length_seconds": 3600, "epoch_seconds": 5, "epochs_ended": 2, "events": [{"name": text}], "samples": 5,
              "lost": {"ring": 1}, "unknown": 1, "failures": 3}
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("answers")
        listener.listen()
        bodies = {b"status": json.dumps(status).encode(), b"metrics": ONE_LINE + b"\n" + ONE_LINE, b"snapshot": HOSTILE}
        replies = {name: framed(body) for name, body in bodies.items()}
        replies[b"flush"] = b"error " + ONE_LINE + b"\n"
        replies[b"epoch"] = b"ok " + HOSTILE
        threading.Thread(target=answer_as_daemon, args=(listener, lambda request: replies.get(request, b"nonsense\n")), daemon=True).start()
        drive("ctl", "--socket", "answers", "status")
        drive("ctl", "--socket", "answers", "status", "--json", kind="json")
        drive("ctl", "--socket", "answers", "metrics")
        drive("ctl", "--socket", "answers", "flush")
        drive("ctl", "--socket", "answers", "epoch", shows=False)
        drive("ctl", "--socket", "answers", "pause", shows=False)
        drive("ctl", "--socket", "answers", "snapshot", "-o", HOSTILE + b"no/snapshot.prof")
        listener.shutdown(socket.SHUT_RDWR)
    os.unlink("answers")
    drive("ctl", HOSTILE)
    drive("ctl", "--socket", HOSTILE, "status")


def drive_top(code, twice):
    for option in ("-e", "-p", "-t", "-C", "--cgroup", "-c", "-F", "--overhead", "--engine", "-m", "-d", "-w", "--by",
                   "--sort", "-n", "--limit", "--socket"):
        drive("top", "-b", option, HOSTILE)
    drive("top", HOSTILE)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("snapshots")
        listener.listen()
        snapshots = itertools.cycle([read(code), read(twice)])  # an epoch that grows, and begins anew
        threading.Thread(target=answer_as_daemon, args=(listener, lambda request: framed(next(snapshots))), daemon=True).start()
        asked = ["--socket", "snapshots", "-d", "100ms"]
        for options in ([], ["--by", "process"], ["--by", "image,thread"], ["--by", "cgroup"], ["--full-names"]):
            drive("top", "-b", "-n", "1", *asked, *options)
        drive("top", "-b", "-n", "1", *asked, "--search", HOSTILE, shows=False)
        # Terminal fails when a control character is sent
        terminal = Terminal([b"culprit", b"top", *(a.encode() for a in asked)], rows=60, columns=250)
        shown = terminal.wait_for("HOSTILE") and terminal.text()
        terminal.type(b"\r")
        terminal.wait_for("q back")
        shown += terminal.text()
        terminal.type(b"qb/HOSTILE\r")
        terminal.wait_for("by image, most time first, with 'HOSTILE'")
        judge_shown((shown + terminal.text()).encode(), "top (on a screen)")
        terminal.type(b"q")
        terminal.end_with(0)
        terminal.close()
        listener.shutdown(socket.SHUT_RDWR)
    os.unlink("snapshots")


def drive_completion():
    drive("completion", HOSTILE)
    drive("completion", "bash", kind="lines", shows=False)


def main():
    listed = run("culprit", "--help").decode()
    verbs = re.findall(r"^  ([a-z]+) +[a-z]", listed, re.M)
    HELP.update({verb: run("culprit", verb, "--help") for verb in verbs})
    code, twice, damaged = prepare()
    made = {name for name in os.listdir(b".")}
    cases = {
        "record": drive_record,
        "stat": drive_stat,
        "report": lambda: drive_report(code, damaged),
        "annotate": lambda: drive_annotate(code, twice, damaged),
        "summary": lambda: drive_summary(code, damaged),
        "accuracy": lambda: drive_accuracy(code, damaged),
        "cfg": lambda: drive_cfg(code, damaged),
        "flame": lambda: drive_flame(code, damaged),
        "diff": lambda: drive_diff(code, twice, damaged),
        "spread": lambda: drive_spread(code, twice, damaged),
        "import": lambda: drive_import(code),
        "export": lambda: drive_export(code, damaged),
        "doctor": drive_doctor,
        "events": drive_events,
        "check": lambda: drive_check(code, damaged),
        "daemon": drive_daemon,
        "ctl": drive_ctl,
        "top": lambda: drive_top(code, twice),
        "db": lambda: drive_db(code, damaged),
        "completion": drive_completion,
    }
    if set(verbs) != set(cases):
        fail(f"verbs are {sorted(verbs)}, not {sorted(cases)}", "culprit --help")
    # run side by side: every group is a script of tests/cli
    groups = {"reports": ["report", "diff", "annotate"], "exchange": ["export", "import"], "live": ["record", "stat", "top", "daemon", "ctl"]}
    groups["others"] = [verb for verb in cases if not any(verb in group for group in groups.values())]
    for group in groups:
        if not (SOURCE / f"tests/cli/hostile-{group}.sh").exists():
            fail("has no script", group)
    for verb in groups[sys.argv[1]]:
        cases[verb]()
        if b"--json" in HELP[verb] and b"--json" not in seen_options[verb]:
            fail("has --json, which no case uses", verb)
    made |= {HOSTILE + end for end in (b"cfg.svg", b"flame.svg", b"kept.prof", b"kept.prof.old", b"saved.prof", b"merged.prof", b"cut", b"bad",
                                       b"out.prof", b"counts", *(b"out." + name.encode() for name in FORMATS))}
    for name in set(os.listdir(b".")) - made:
        if b"HOSTILE" in name or hidden(os.fsdecode(name)):
            fail("is a file that nobody named", repr(name))
    for failure in failures[:40]:
        print(failure)
    if len(failures) > 40:
        print(f"and {len(failures) - 40} more")
    return 1 if failures else 0


HELP = {}
ENVIRONMENT[b"HOSTILE"] = HOSTILE
sys.exit(main())
