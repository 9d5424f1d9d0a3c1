"""flame_stacks.py CULPRIT PERF.DATA FLAMEGRAPH names|plain - are culprit's folded stacks those of
`perf script --no-inline | stackcollapse-perf.pl`, stack by stack and weight by weight?

Where the two see or spell something differently, one of RULES says so. Each is applied only where its
condition holds in the data, and is printed with the weight of the stacks that it touched; what they do
not explain fails. docs/recordings.md says whose reason each is. With "plain" nobody looks for names."""
import collections, os, re, struct, subprocess, sys

culprit, data, scripts, form = sys.argv[1:]
plain = form == "plain"
OUR_EXPORT = [culprit, "export", "-q"] + (["--stash-only"] if plain else [])
THEIR_SCRIPT = ["perf", "script", "--no-inline", "-i", data]
if plain:
    THEIR_SCRIPT += ["--symfs", "/nonexistent", "--kallsyms", "/dev/null"]

RULES = {
    "cause": "culprit says why code is unknown: [unknown: CAUSE], there [unknown]",
    "run": "callers in a row of which nothing is known, for one cause: one frame here",
    "unnamed": "functions that only call frame information knows: IMAGE+0xSTART here, [IMAGE] there",
    "signature": "demangled names: the reference leaves out arguments, perf also what templates return",
    "alias": "several symbols of one start: perf takes local ones before weak ones, and versions",
    "return": "callers: perf names the address after the call, culprit the call",
    "data": "callers that lie in no code: perf names the variable there",
    "stub": "stubs of the procedure linkage table: perf leaves them unknown or without a name",
    "end": "perf's symbol does not reach that far",
    "init": "kernel code behind the text that the recording notes: perf knows it by its names alone",
    "build": "files whose build-id is not in the recording: culprit takes no names from them",
    "twin": "one build under several paths: culprit shows the first, perf each",
    "deleted": "paths marked (deleted): stackcollapse-perf.pl reads the mark as the path",
    "memory": "code in memory: [jit COMMAND] here, [memfd:NAME] or [perf-PID.map] there",
    "arrow": "names with ->: stackcollapse-perf.pl cuts them in two",
    "bracket": "names that begin with a bracket: stackcollapse-perf.pl leaves the frame out",
    "command": "commands that stackcollapse-perf.pl misreads, and :TID for no name",
    "exit": "last samples of a thread, without its number: culprit knows whose they are, perf writes :-1",
    "dropped": "chains with a word like a context mark that is none: perf drops all their frames",
}
ARROW, COMMAND, FILLER, COMMAND_WORD = "\x01", "\x02", "\x03", "\x04"  # put into perf's text, taken out of the folded lines
COMMAND_MOST = 15  # bytes that the kernel keeps of a command's name
weights = collections.Counter()


def text_of(line):
    return line.decode("utf-8", "surrogateescape")


def lines_of(command):
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    for line in process.stdout:  # as bytes: in text a carriage return would end a line too
        yield text_of(line)
    if process.wait():
        sys.exit(f"failed: {' '.join(command)}")


# ---- what the files say

def file_of(image):
    """perf's own copy of the recorded build, else what lies at the path now."""
    build_id = build_ids.get(image, "")
    copy = os.path.expanduser(f"~/.debug/.build-id/{build_id[:2]}/{build_id[2:]}/elf")
    return copy if build_id and os.path.exists(copy) else image


def segments_of(image):
    """Executable segments of an ELF file of 64 bits: (address, offset, bytes)."""
    found = []
    try:
        with open(file_of(image), "rb") as file:
            header = file.read(64)
            if header[:5] == b"\x7fELF\x02":
                file.seek(struct.unpack_from("<Q", header, 32)[0])
                for _ in range(struct.unpack_from("<H", header, 56)[0]):
                    kind, flags, offset, vaddr, _, size = struct.unpack_from("<IIQQQQ", file.read(56))
                    if kind == 1 and flags & 1:
                        found.append((vaddr, offset, size))
    except OSError:
        pass
    return found


def symbols_of(image):
    """start -> {name: bytes or None} of a file, of its debug file, or of the running kernel."""
    found = collections.defaultdict(dict)
    if image.startswith("["):
        for line in open("/proc/kallsyms"):
            start, _, name = line.split("\t")[0].split()[:3]
            found[int(start, 16) - KERNEL_START][name] = None
        return found
    path, build_id = file_of(image), build_ids.get(image, "")
    debug = f"/usr/lib/debug/.build-id/{build_id[:2]}/{build_id[2:]}.debug"
    for options, file in ((["-C"], path), (["-C", "-D"], path), (["-C"], debug)):
        text = subprocess.run(["nm", "-S", *options, file], capture_output=True, encoding="utf-8",
                              errors="surrogateescape").stdout
        for line in text.splitlines():
            match = re.match(r"([0-9a-f]+) (?:([0-9a-f]+) )?\S (.*)$", line)
            if match:
                found[int(match[1], 16)][bare(match[3])] = int(match[2], 16) if match[2] else None
    return found


PAGE = 4096
KERNEL_START = 0xffffffff81000000
DELETED = " (deleted)"
build_ids = {line[41:].rstrip("\n").removesuffix(DELETED): line[:40]
             for line in lines_of(["perf", "buildid-list", "-i", data])}
segments, symbols = {}, {}


def kernel_end():
    """Where the kernel's text ends, as the recording's mapping of it says."""
    for line in lines_of(["perf", "script", "-i", data, "--show-mmap-events", "-F", "comm,tid,time,event"]):
        match = re.search(r"\[0x([0-9a-f]+)\(0x([0-9a-f]+)\) @ [^]]*\]: x \[kernel\.kallsyms\]", line)
        if match:
            return int(match[1], 16) + int(match[2], 16)
    return 1 << 64


def is_start_up_code(line):
    return 0 <= int(line.split(None, 1)[0], 16) - kernel_text_end < 64 << 20


def code_of(image):
    if image not in segments:
        segments[image] = segments_of(image)
    return segments[image]


def known_as(image, start):
    if image not in symbols:
        symbols[image] = symbols_of(image)
    return symbols[image].get(start, {})


def places_of(image, address):
    """Where culprit's text has an address of perf's: perf shows the place in the file, culprit that in
    the ELF file's own address space."""
    if image.startswith("[kernel"):
        return [address - KERNEL_START]
    places = [address - offset + vaddr for vaddr, offset, size in code_of(image)
              if offset <= address < offset + size]
    return list(dict.fromkeys(places + [address]))


# ---- frames

FRAME = re.compile(r"\s+([0-9a-f]+) (.*) \(([^()]*(?: \(deleted\))?)\)$")
OFFSET = re.compile(r"^(.*)\+0x([0-9a-f]+)$")
UNNAMED = re.compile(r"^\[unknown.*\]$|^.+\+0x[0-9a-f]+$")
KERNEL = re.compile(r" \(\[(?!vdso\]|unknown\]|vsyscall\])[^()]*\]\)$")


def tidy(name):
    """What stackcollapse-perf.pl makes of a function's name, or of its stub's."""
    name = name.replace(";", ":")
    if not re.search(r"\.\(.*\)\.", name):
        name = re.sub(r"\((?!anonymous namespace\)).*?(@plt)?$", r"\1", name)
    return name.translate({ord('"'): None, ord("'"): None})


def bare(name):
    """tidy(), without the version behind @."""
    return tidy(name) if name.endswith("@plt") else re.sub(r"@.*", "", tidy(name))


def frame_key(line, before):
    """(line, whether its address is one that ran and none to return to), and what the next frame has to
    know: the first address of a sample ran, and so did the first of the user below the kernel's."""
    kernel = bool(KERNEL.search(line))
    return (line, before is None or (before and not kernel)), kernel


def our_frames():
    """(image, address, whether it ran) -> (function, its start), as culprit's perf script text has it."""
    counts = collections.Counter()
    before = None
    for line in lines_of(OUR_EXPORT + ["-f", "perf-script", data]):
        if line[0] == "\t":
            key, before = frame_key(line, before)
            counts[key] += 1
        else:
            before = None
    frames = {}
    for (line, ran), _ in reversed(counts.most_common()):
        match = FRAME.match(line)
        name = OFFSET.match(match[2])
        address = int(match[1], 16)
        frames[match[3], address, ran] = (name[1], address - int(name[2], 16)) if name else (match[2], None)
    return frames


def seen_differently(image, place, function, start, our, our_start, ran):
    """The rule by which perf's `function` is culprit's `our` at that place; "" when they are the same,
    None when no rule has it."""
    named = start is not None
    if named and our_start == start:
        if tidy(our) == tidy(function):
            return ""
        if our.endswith("@plt") and function.endswith("@plt"):
            return "stub"
        if f" {function}(" in our:
            return "signature"
        names = known_as(image, start)
        return "alias" if bare(our) in names and bare(function) in names else None
    if not named and UNNAMED.match(our):
        return ""
    if our.endswith("@plt"):
        return "stub"
    if not ran and start in (None, place):
        return "return"
    if named and image[0] == "/" and image not in build_ids:
        return "build"
    size = known_as(image, start).get(bare(function)) if named else None
    if named and our_start != start and place - start >= (size or 0):
        return "end"
    return None


def as_culprit_has_it(line, ran):
    """perf's line of a frame as it would read with what culprit sees there, and the rules for that."""
    rules = set()
    match = FRAME.match(line)
    address, function, image = int(match[1], 16), match[2], match[3]
    if image.endswith(DELETED):
        image = image.removesuffix(DELETED)
        rules.add("deleted")
    twin = our_images.get(build_ids.get(image), image)
    if twin.rsplit("/")[-1] != image.rsplit("/")[-1]:
        rules.add("twin")
    image = twin
    symbol = OFFSET.match(function)
    offset = int(symbol[2], 16) if symbol else None
    function = symbol[1] if symbol else function
    if image.startswith("/memfd:") or (not symbol and re.match(r"/tmp/perf-\d+\.map$", image)):
        function = f"[jit_{COMMAND}]"
        rules.add("memory")
    elif not ran and any(address in (vaddr & -PAGE, place & -PAGE) for vaddr, place, size in code_of(image)):
        function, image = "[unknown]", "[unknown]"  # the call would lie before the mapping
        rules.add("return")
    elif symbol and code_of(image) and not any(at <= address < at + size for vaddr, place, size in code_of(image)
                                               for at in (vaddr, place)):
        function = "[unknown]"
        rules.add("data")
    else:
        for place in places_of(image, address):
            if (image, place, ran) in frames:
                our, our_start = frames[image, place, ran]
                rule = seen_differently(image, place, function, place - offset if symbol else None,
                                        our, our_start, ran)
                if rule:
                    function = "[unknown]" if UNNAMED.match(our) else tidy(our)
                    rules.add(rule)
                break
    if "->" in function:
        function = function.replace("->", "-" + ARROW)
        rules.add("arrow")
    if function.startswith("("):
        function = FILLER + function
        rules.add("bracket")
    return f"\t{address:x} {function} ({image})\n", rules


HEAD = re.compile(r"(.*?)( +)(-?\d+)(/-?\d+)?\s+(?:\[\d+\]\s+)?[\d.]+:\s+(?:(\d+)\s+)?\S+:\s*", re.DOTALL)
FLAMEGRAPH_HEAD = re.compile(r"^(\S.+?)\s+(\d+)/*(\d+)*\s+")


def word_of(command):
    """A command's name as one word that no reader of folded text takes for something else. A name may
    hold any byte but 0: newlines, escape sequences, semicolons."""
    safe = re.sub(r"[%;\x00-\x1f\x7f]", lambda match: f"%{ord(match[0]):02X}", command)
    return safe.replace(" ", "_")


def decoded(text):
    """What culprit's %XX in folded text stand for."""
    return re.sub(r"%([0-9A-F]{2})", lambda match: chr(int(match[1], 16)), text)


def one_head(text):
    """perf's first lines of a sample, that of a command which would be misread with another, its period
    and rules; None when more belongs to it: a newline in the command's name."""
    match = HEAD.fullmatch(text)
    if not match:
        return None
    command = match[1]
    if not match[4]:  # perf pads numbers to five digits: spaces beyond are the name's own
        command += " " * (len(match[2]) - 1 - max(0, 5 - len(match[3])))
    read = FLAMEGRAPH_HEAD.match(text)
    if read and read[1] == command and word_of(command) == command.replace(" ", "_") and command[0] != "#":
        return text, int(match[5] or 1), set()
    rest = text[match.end(3):].strip()
    return f"{COMMAND_WORD}{word_of(command)}{FILLER} 1 {rest}\n", int(match[5] or 1), {"command"}


def collapse_theirs(path):
    process = subprocess.Popen([f"{scripts}/stackcollapse-perf.pl"], stdin=subprocess.PIPE, stdout=open(path, "wb"))
    known, rules, before, period, samples, head = {}, set(), None, 0, 0, ""
    for line in lines_of(THEIR_SCRIPT):
        if head is not None:  # between samples: whatever comes is a head, or the beginning of one
            read = one_head(head + line)
            if not read:
                head += line
                if len(head) > 400:
                    sys.exit(f"failed: not understood of perf script: {head!r}")
                continue
            line, period, found = read
            rules, before, samples, head = set(found), None, samples + 1, None
        elif line.endswith(" [unknown] ([unknown])\n"):
            before = False
            if is_start_up_code(line):
                line = line.replace("([unknown])", "([kernel.kallsyms])")
                rules.add("init")
        elif line[0] == "\t":
            key, before = frame_key(line, before)
            if key not in known:
                known[key] = as_culprit_has_it(*key)
            line = known[key][0]
            rules |= known[key][1]
        elif line == "\n":
            for rule in rules:
                weights[rule] += period
            head = ""
        else:
            sys.exit(f"failed: not understood of perf script: {line!r}")
        process.stdin.write(line.encode("utf-8", "surrogateescape"))
    process.stdin.close()
    if process.wait():
        sys.exit("failed: stackcollapse-perf.pl")
    return samples


# ---- stacks

KERNEL_FRAME = re.compile(r"^\[?\[(kernel|kernel\.kallsyms|vmlinux)[^]]*\]\]?$")


def our_frame(frame, rules):
    if frame.startswith("[unknown: "):
        rules.add("cause")
        return "[unknown]"
    if KERNEL_FRAME.match(frame):
        return "[kernel]"
    if frame.startswith("["):
        return frame.replace(" ", "_") if frame.startswith("[jit ") else frame
    if UNNAMED.match(frame):
        rules.add("unnamed")
        return f"[{OFFSET.match(frame)[1]}]"
    if tidy(frame) != frame:
        rules.add("signature")
    return tidy(frame)


def their_frame(frame, command):
    if KERNEL_FRAME.match(frame):
        return "[kernel]"
    return frame.replace("[[vdso]]", "[vdso]").replace(ARROW, ">").replace(FILLER, "").replace(COMMAND, command)


def folded(path):
    for line in open(path, "rb"):
        stack, count = text_of(line).rstrip("\n").rsplit(" ", 1)
        yield stack.split(";"), int(count)


def our_command(command, rules):
    """The first of a folded line. A thread of unknown name has none there, and begins with a frame."""
    name = decoded(command)
    if command.startswith("[") or len(name.encode("utf-8", "surrogateescape")) > COMMAND_MOST:
        return our_frame(command, rules)
    return word_of(name)


def without_runs(frames, rules):
    kept = [frame for at, frame in enumerate(frames) if frame != "[unknown]" or at == 0 or frames[at - 1] != frame]
    if len(kept) != len(frames):
        rules.add("run")
    return kept


def our_stacks(path):
    sums = collections.Counter()
    for (command, *frames), count in folded(path):
        rules = set()
        frames = without_runs([our_frame(frame, rules) for frame in frames], rules)
        sums[";".join([our_command(command, rules)] + frames)] += count
        for rule in rules:
            weights[rule] += count
    return sums


def their_stacks(path):
    sums = collections.Counter()
    for (command, *frames), count in folded(path):
        command = command.replace(FILLER, "").replace(COMMAND_WORD, "")
        rules = set()
        frames = without_runs([their_frame(frame, command) for frame in frames], rules)
        for rule in rules:
            weights[rule] += count
        if command and not re.match(r"^:-?\d+$", command):
            frames.insert(0, command)
            commands.add(command)
        sums[";".join(frames)] += count
    return sums


def take_dropped(ours, theirs):
    """Of a command whose samples without a frame there weigh what stacks of it weigh too much here; of
    the threads of unknown name last, whose stacks begin with any frame."""
    for command in sorted((stack for stack in theirs if ";" not in stack), key=lambda name: not name):
        frameless = theirs[command] - ours[command]
        more = {stack: count - theirs[stack] for stack, count in ours.items()
                if count > theirs[stack] and command in ("", stack.split(";")[0])}
        if 0 < frameless == sum(more.values()):
            ours.subtract(more)
            ours[command] += frameless
            weights["dropped"] += frameless


def take_exits(ours, theirs):
    """Of stacks without a command there: those that some command has too much here."""
    for stack, count in list(theirs.items()):
        for command in commands if count > ours[stack] else []:
            owned = f"{command};{stack}"
            more = min(count - ours[stack], ours[owned] - theirs[owned])
            if more > 0:
                ours[stack] += more
                ours[owned] -= more
                weights["exit"] += more


commands = set()
frames = our_frames()
kernel_text_end = kernel_end()
our_images = {build_ids[image]: image for image, _, _ in frames if image in build_ids}
samples = collapse_theirs("theirs.explained")
subprocess.run(OUR_EXPORT + ["-f", "folded", "-o", "ours.explained", data], check=True)
ours, theirs = our_stacks("ours.explained"), their_stacks("theirs.explained")
total = sum(theirs.values())
take_exits(ours, theirs)
take_dropped(ours, theirs)
rest = {stack: ours[stack] - theirs[stack] for stack in {*ours, *theirs} if ours[stack] != theirs[stack]}
print(f"stacks {'without' if plain else 'with'} names: {samples} samples, weight {total}; what differs and why, "
      "with the weight of the stacks that have it:")
for rule, why in RULES.items():
    if weights[rule]:
        print(f"  {100 * weights[rule] / total:9.5f} %  {rule:9}  {why}")
unexplained = sum(abs(more) for more in rest.values())
print(f"  {100 * unexplained / total:9.5f} %  unexplained, {len(rest)} stacks")
for stack in sorted(rest, key=lambda s: -abs(rest[s]))[:10]:
    print(f"    here {ours[stack]}, there {theirs[stack]}: {stack[-200:]}")
if rest:
    sys.exit("failed: stacks differ for no known reason")
