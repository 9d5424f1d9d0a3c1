# What top shows of samples whose every figure is known: frozen they stay, for every key; "since the start"
# sums them up; the chosen row is followed where the order changes; another epoch of the daemon goes on.
. "$SOURCE/tests/lib.sh"
need_command python3
python3 -B - <<'PYTHON'
import itertools
import os
import sys

sys.path.insert(0, os.environ["SOURCE"] + "/tests")
from made_up_daemon import Daemon, snapshot
from terminal import Terminal

numbers = itertools.count()


def watch(answers, *options):
    """The daemon, which answers no more after these, and top when it has taken all of them."""
    path = f"socket{next(numbers)}"
    daemon = Daemon(path, *answers, None)
    terminal = Terminal(["culprit", "top", "--socket", path, "-d", "100ms", *options], rows=24, columns=130)
    daemon.expect_asked(len(answers) + 1)
    return daemon, terminal


def rows(*wanted):
    """A pattern of the whole table: names and their samples, in that order, and nothing after them."""
    lines = [rf" *[0-9.]+ +[0-9.]+ +{samples} .*\b{name}" for name, samples in wanted]
    return r"^ *% +\+- .*\n" + "\n".join(lines) + "\n\n"


def end(terminal):
    terminal.type(b"q")
    terminal.end_with(0)
    terminal.close()


first = snapshot(0, 1, alpha=1000, beta=1000, gamma=1000)
second = snapshot(0, 2, alpha=1100, beta=1050, gamma=1000)
third = snapshot(0, 3, alpha=1100, beta=1050, gamma=1300)
fourth = snapshot(0, 4, alpha=1107, beta=1050, gamma=1300)

# ---- frozen: what is shown stays while a part comes that has none of it
daemon, terminal = watch([first, second], "-w", "100ms")
terminal.wait_for(rows(("alpha", 100), ("beta", 50)))
terminal.type(b"p")
terminal.wait_for("^on-CPU .*, frozen$")
daemon.go_on(third, fourth, None)
daemon.expect_asked(2)
terminal.type(b"\x0c")
terminal.wait_for(rows(("alpha", 100), ("beta", 50)))
terminal.type(b"j\r")  # the second row's instructions, and its samples
terminal.wait_for("line 1 of [0-9]+ of beta$")
terminal.wait_for("^beta in beta$")
terminal.wait_for(r"^ *>? +50 .* nop$")
terminal.type(b"q")
terminal.wait_for(rows(("alpha", 100), ("beta", 50)))
terminal.type(b"/a\r")
terminal.wait_for(rows(("alpha", 100), ("beta", 50)))
terminal.type(b"/nowhere\r\r")
terminal.wait_for("^no row has that text; / and Enter show all$")
terminal.wait_for("^frozen, by procedure, most time first, with 'nowhere' ")
terminal.resize(4, 20)
terminal.wait_for("^[?] help  q quit   fro$")
terminal.type(b"/\r")
terminal.wait_for(r"^ *[0-9.]+ +[0-9.]+ +100")
terminal.resize(24, 130)
terminal.type(b"/lph\r")
terminal.wait_for(rows(("alpha", 100)))
terminal.type(b"\r")
terminal.wait_for("^alpha in alpha$")
terminal.type(b"q/\r")
terminal.wait_for(rows(("alpha", 100), ("beta", 50)))
terminal.type(b"b")
terminal.wait_for(r"samples +image$")
terminal.wait_for(rows(("alpha", 100), ("beta", 50)))
terminal.type(b"w")
terminal.wait_for("^on-CPU .*, since the start, frozen$")
terminal.wait_for(rows(("alpha", 100), ("beta", 50)))
terminal.type(b"w")
terminal.wait_for("^on-CPU .* samples, frozen$")
terminal.type(b"p")  # the newest come back
terminal.wait_for(rows(("alpha", 7)))
assert "frozen" not in terminal.text(), terminal.text()
end(terminal)

# ---- since the start: parts that have left the window are in it
daemon, terminal = watch([first, second, third, fourth], "-w", "100ms")
terminal.wait_for(rows(("alpha", 7)))
terminal.type(b"w")
terminal.wait_for("^on-CPU +3.000 s of the daemon's samples, since the start$|^on-CPU .* 3.000 s of the daemon's samples, since the start$")
terminal.wait_for(rows(("gamma", 300), ("alpha", 107), ("beta", 50)))
terminal.type(b"w")
terminal.wait_for(rows(("alpha", 7)))
end(terminal)

# ---- the chosen row, where it is then; and the first row, whichever that is then
for keys, chosen in ((b"j", "beta"), (b"", "gamma")):
    daemon, terminal = watch([first, second], "-w", "10s")
    terminal.wait_for(rows(("alpha", 100), ("beta", 50)))
    terminal.type(keys + b"?")
    terminal.wait_for("^q back")
    terminal.type(b"q")
    daemon.go_on(third, None)
    terminal.wait_for(rows(("gamma", 300), ("alpha", 100), ("beta", 50)))
    terminal.type(b"\r")
    terminal.wait_for(f"line 1 of [0-9]+ of {chosen}$")
    terminal.type(b"q")
    end(terminal)

# ---- stacks, which no table shows, are not kept: resident memory is what it is without them, and 7 MB that malloc()
# has not given back; kept, they take 94 MB
taken = {}
for stacks in (0, 100000):
    figures = {"stacks": stacks} if stacks else {"work": stacks}
    daemon, terminal = watch([first, snapshot(0, 2, alpha=1100, beta=1050, gamma=1000, **figures)], "-w", "10s")
    terminal.wait_for(r" 100 .*\balpha")
    with open(f"/proc/{terminal.process.pid}/statm") as file:
        taken[stacks] = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    end(terminal)
assert taken[100000] < taken[0] + (32 << 20), f"100,000 stacks take memory: {taken}"

# ---- another epoch, of which only what comes later is known; it may have more of everything
for begins in (3, 5000):
    anew = snapshot(1, 1, alpha=begins, beta=begins, gamma=begins)
    later = snapshot(1, 2, alpha=begins, beta=begins + 20, gamma=begins)
    daemon, terminal = watch([first, second, anew, later], "-w", "10s")
    terminal.wait_for(rows(("alpha", 100), ("beta", 70)))
    terminal.type(b"w")
    terminal.wait_for("since the start$")
    terminal.wait_for(rows(("alpha", 100), ("beta", 70)))
    end(terminal)
PYTHON
