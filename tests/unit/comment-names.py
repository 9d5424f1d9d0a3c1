#!/usr/bin/env python3
"""What comments of src name exists: functions, written name(), structs and enums, and files; and the
files that pages of docs name in backquotes (but patterns: NAME, VERB, ...).

usage: comment-names.py ROOT

Names of the kernel, of libraries and of programs are in FOREIGN; files of theirs are told by the
folder that they are in there.
"""

import pathlib
import re
import sys
import tempfile

FOREIGN = set("""
    begin_new_exec bpf_probe_read_kernel evsel__add_modifiers perf_event_ksymbol_output perf_mem_data_src
    perf_sample_regs_abi ptrauth_user_pac_mask trace_entry
    arm_pmuv3.c cp-demangle.c cputype.h idle.c process.c proc_ns.h pthread.h rust-demangle.c setjmp.h unistd.h zlib.h
    a.c flame_web.h
""".split())  # the last two: of an example, and built
FOREIGN_FOLDERS = ("arch/", "drivers/", "fs/", "include/linux/", "include/uapi/", "kernel/", "linux/",
                   "tools/objtool/", "tools/perf/")


def split(text):
    """The comments of a C text with their lines, and its code without comments and strings."""
    comments, code, at = [], [], 0
    for match in re.finditer(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', text, re.S):
        code.append(text[at:match.start()])
        at = match.end()
        if match[0].startswith("/"):
            comments.append((text.count("\n", 0, match.start()) + 1, match[0]))
    code.append(text[at:])
    return comments, "".join(code)


def find_wrong(root):
    """(path, line, name) of each name that nothing has."""
    files = sorted(path for folder in ("src", "include") for path in (root / folder).rglob("*.[ch]"))
    split_files = {path: split(path.read_text()) for path in files}
    words = set()
    for path in files:
        words.update(re.findall(r"\w+", split_files[path][1]))
    ours = [f"/{path.relative_to(root)}" for folder in ("src", "include", "tests", "bench", "docs", "tools", "data", "examples")
            for path in (root / folder).rglob("*")] + [f"/{path.name}" for path in root.iterdir()]
    endings = {name[at:] for name in ours for at in range(len(name)) if name[at] == "/"}
    wrong = []
    for path in sorted(root.glob("*.md")) + sorted((root / "docs").rglob("*.md")):
        for line, text in enumerate(path.read_text().splitlines(), 1):
            for name in re.findall(r"`((?:\w[\w.-]*/)+\w[\w-]*\.(?:h|c|md|sh|py))`", text):
                pattern = re.search(r"\b[A-Z]{2,}\b|_[A-Z]{2,}\b", name.rpartition(".")[0])
                if f"/{name}" not in endings and not name.startswith(FOREIGN_FOLDERS) and not pattern:
                    wrong.append((path, line, name))
    for path in files:
        for line, comment in split_files[path][0]:
            names = re.findall(r"\b([a-z]\w*_\w+)\(\)", comment)
            names += re.findall(r"\b(?:struct|enum|union) (\w+)", comment)
            wrong += [(path, line, name) for name in names if name not in words and name not in FOREIGN]
            for name in re.findall(r"(?<![\w*.-])((?:\w[\w-]*/)*\w[\w-]*\.(?:h|c|md|sh|py))\b", comment):
                foreign = name.startswith(FOREIGN_FOLDERS) or name.rpartition("/")[2] in FOREIGN
                if f"/{name}" not in endings and not foreign:
                    wrong.append((path, line, name))
    return [(path.relative_to(root), line, name) for path, line, name in wrong]


def check_that_it_finds():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "src/base").mkdir(parents=True)
        (root / "src/base/a.c").write_text("/* gone_away() */\nint here; // base/lost.h\n/* struct gone, here_too */\n"
                                           'char *text = "/* not_one() */"; /* base/a.c, struct here */\n')
        (root / "docs").mkdir()
        (root / "docs/page.md").write_text("`base/a.c`, `base/moved.c` and `base/NAME.c`\n")
        found = [name for _, _, name in find_wrong(root)]
    if found != ["base/moved.c", "gone_away", "base/lost.h", "gone"]:
        sys.exit(f"found in what has four wrong names: {found}")


def main(root):
    check_that_it_finds()
    wrong = find_wrong(pathlib.Path(root))
    for path, line, name in wrong:
        print(f"{path}:{line}: there is no {name}")
    return 1 if wrong else 0


sys.exit(main(sys.argv[1]))
