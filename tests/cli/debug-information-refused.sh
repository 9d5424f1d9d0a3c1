# A file of 117 kB whose compressed debug information stands for 40 million lines costs neither its
# reader's memory nor its own names, and it is said why there are no lines. So it is with what is damaged.
. "$SOURCE/tests/lib.sh"
need_command python3
PYTHONPATH="$SOURCE/tests" python3 -B - <<'END'
import os, struct, zlib
from protobuf import message, number

BUILD = bytes(range(20))


def packed(raw):
    """As a section of flag SHF_COMPRESSED has it."""
    return struct.pack("<IIQQ", 1, 0, len(raw), 1) + zlib.compress(raw, 9)


def packed_of_old(raw):
    """As a section whose name begins with .zdebug has it."""
    return b"ZLIB" + struct.pack(">Q", len(raw)) + zlib.compress(raw, 9)


def unit(header, body):
    return struct.pack("<I", len(header) + len(body)) + header + body


# one compilation unit of low_pc, high_pc and stmt_list with one procedure
ABBREVIATIONS = bytes([1, 0x11, 1, 0x11, 1, 0x12, 7, 0x10, 0x17, 3, 8, 0, 0])
ABBREVIATIONS += bytes([2, 0x2E, 0, 3, 8, 0x11, 1, 0x12, 7, 0, 0, 0])
EXTENT = struct.pack("<QQ", 0x1000, 1 << 20)
INFORMATION = unit(struct.pack("<HIB", 4, 0, 8),
                   b"\1" + EXTENT + bytes(4) + b"a.c\0" + b"\2main\0" + EXTENT + b"\0")


def lines(count):
    """A row for each byte."""
    header = b"\1\1\1" + struct.pack("<b", -5) + bytes([14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1, 0]) + b"a.c\0\0\0\0\0"
    program = b"\0\x09\2" + struct.pack("<Q", 0x1000) + bytes(33 + i % 3 for i in range(64)) * (count // 64)
    return unit(struct.pack("<HI", 4, len(header)) + header, program + b"\2\1\0\1\1")


def write_elf(name, *debug, titles=(".debug_info", ".debug_abbrev", ".debug_line"), flags=0x800):
    """Sections of text, the build-id, one symbol `main`, and debug information."""
    symbols = bytes(24) + struct.pack("<IBBHQQ", 1, 0x12, 0, 1, 0x1000, 1 << 20)
    note = struct.pack("<III", 4, len(BUILD), 3) + b"GNU\0" + BUILD
    sections = [("", 0, 0, b"", 0), (".text", 1, 6, bytes(64), 0), (".note.gnu.build-id", 7, 2, note, 0),
                (".symtab", 2, 0, symbols, 4), (".strtab", 3, 0, b"\0main\0", 0)]
    sections += [(title, 1, flags, content, 0) for title, content in zip(titles, debug)]
    names = b"\0".join(section[0].encode() for section in sections) + b"\0.shstrtab\0"
    sections.append((".shstrtab", 3, 0, names, 0))
    body, table, title = b"", b"", 0
    for name_of, kind, flags, content, link in sections:
        body += bytes(-len(body) % 16)
        entry = 24 if kind == 2 else 0
        table += struct.pack("<IIQQQQIIQQ", title, kind, flags, 0x1000 if flags == 6 else 0, 128 + len(body), len(content), link, 1 if entry else 0, 1, entry)
        body += content
        title += len(name_of) + 1
    body += bytes(-len(body) % 16)
    head = b"\x7fELF\2\1\1" + bytes(9)
    head += struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 128 + len(body), 0, 64, 56, 1, 64, len(sections), len(sections) - 1)
    head += struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, 1 << 24, 1 << 24, 4096)
    os.makedirs(name)
    with open(f"{name}/a.so", "wb") as file:
        file.write(head.ljust(128, b"\0") + body + table)


write_elf("sound/opt", packed(INFORMATION), packed(ABBREVIATIONS), packed(lines(6400)))
write_elf("large/opt", packed(INFORMATION), packed(ABBREVIATIONS), packed(lines(40000000)))
OLD = ".zdebug_info", ".zdebug_abbrev", ".zdebug_line"
write_elf("large-of-old/opt", *map(packed_of_old, (INFORMATION, ABBREVIATIONS, lines(40000000))), titles=OLD, flags=0)
write_elf("damaged/opt", packed(INFORMATION)[:30], packed(ABBREVIATIONS), packed(lines(6400)))

texts = [b"", b"cpu", b"nanoseconds", b"/opt/a.so", BUILD.hex().encode()]
location = number(1, 1) + number(2, 1) + number(3, 0x1010)
mapping = number(1, 1) + number(3, 1 << 24) + number(5, 3) + number(6, 4)
with open("profile", "wb") as file:
    file.write(message(1, number(1, 1) + number(2, 2)) + message(3, mapping) + message(4, location))
    file.write(message(2, message(1, b"\1") + message(2, b"\1")))
    file.write(b"".join(message(6, text) for text in texts))
END
for kind in sound large large-of-old damaged; do
	echo "$kind:"
	culprit report -v --symfs "$kind" profile | grep -A3 -E 'a\.so|^note' | hide '[0-9]{5,}' N
done
