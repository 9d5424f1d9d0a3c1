#!/usr/bin/env python3
"""docs/profile-format.md says of each column of each table who fills and who reads it: every column that
src/profile/profile_columns.c declares is there once, and no other.

usage: table-columns.py ROOT
"""

import pathlib
import re
import sys

CELL = ["samples", "estimate", "squares"]  # CELL_COLUMNS


def declared(text):
    """(table, column) of the C source."""
    lists = {name: re.findall(r'"(\w+)"', body) + (CELL if "CELL_COLUMNS" in body else [])
             for name, body in re.findall(r"struct column (\w+)\[\] = \{(.*?)\n\};", text, re.S)}
    return [(table, column) for table, name in re.findall(r'DECLARE\("(\w+)", (\w+)\)', text)
            for column in lists[name]]


def described(text):
    """(table, column) of the rows of the page's list."""
    section = text.split("\n## Who fills and who reads each column\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (\w+) \| ([\w, ]+) \| [^|]+ \| [^|]+ \|$", section, re.M)
    return [(table, column) for table, columns in rows if table != "table" for column in columns.split(", ")]


def difference(source, page):
    wanted, found = declared(source), described(page)
    assert len(wanted) > 80, "the declarations were not found"
    return ([f"{table}.{column} is not in the list" for table, column in wanted if (table, column) not in found] +
            [f"{table}.{column} is in the list, and no column" for table, column in found
             if (table, column) not in wanted] +
            [f"{table}.{column} is in the list twice" for table, column in sorted(set(found))
             if found.count((table, column)) > 1])


root = pathlib.Path(sys.argv[1])
source = (root / "src/profile/profile_columns.c").read_text()
page = (root / "docs/profile-format.md").read_text()
assert difference(source, page.replace("| strip | second, ", "| strip | ")) == ["strip.second is not in the list"]
assert difference(source, page.replace("| strip | second, ", "| strip | second, minute, ")) == \
    ["strip.minute is in the list, and no column"]
wrong = difference(source, page)
print("\n".join(wrong))
sys.exit(1 if wrong else 0)
