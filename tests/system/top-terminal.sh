# top on a terminal: a loop is found by its name, drilled down to its instructions, and the terminal is
# given back, by a key, by Ctrl-C and by SIGTERM; a terminal of any size will do.
. "$SOURCE/tests/lib.sh"
need_recording system
need_command python3
"$KERNELS/busy" split 120 &
loop=$!
export LOOP=$loop
trap 'kill $loop 2>/dev/null || true' EXIT
python3 -B - <<'PYTHON'
import os
import signal
import sys

sys.path.insert(0, os.environ["SOURCE"] + "/tests")
from terminal import Terminal

TOP = ["culprit", "top", "-q", "-e", "cpu-clock", "-d", "300ms", "-p", os.environ["LOOP"]]

terminal = Terminal(TOP)
terminal.wait_for(r"^on-CPU +[0-9.]+ of [0-9]+ CPUs? busy")
terminal.wait_for(r"^ *% +\+- +samples +image +procedure")
terminal.type(b"/BUSY_tw")
terminal.wait_for(r"^rows with: BUSY_tw")
terminal.type(b"\x7fw\r")
terminal.wait_for(r"by procedure, most time first, with 'BUSY_tw'")
terminal.wait_for(r"busy +busy_two$")
terminal.type(b"\r")
terminal.wait_for(r"^busy_two in busy$")
terminal.wait_for(r" jn?e +0x")
terminal.wait_for(r"line 1 of [0-9]+ of busy_two$")
terminal.resize(12, 120)
terminal.wait_for(r"line 1 of [0-9]+ of busy_two$")
terminal.type(b"jj")
terminal.wait_for(r"line 3 of [0-9]+ of busy_two$")
terminal.resize(40, 120)
terminal.type(b"q")
terminal.wait_for(r"by procedure")
terminal.type(b"/\r")
terminal.wait_for(r"most time first   ")
terminal.type(b"b")
terminal.wait_for(r"samples +image$")
terminal.type(b"b")
terminal.wait_for(r"samples +process$")
terminal.type(b"s")
terminal.wait_for(r"no CPI to sort by")
terminal.type(b"k")
terminal.wait_for(r"by process, name first")
terminal.type(b"s")
terminal.wait_for(r"by process, most time first")
terminal.type(b"w")
terminal.wait_for(r"since the start")
terminal.type(b"p")
terminal.wait_for(r"frozen")
terminal.type(b"p?")
terminal.wait_for(r"freeze: what is shown stays")
terminal.type(b"\x1b")
terminal.wait_for(r"by process")
for rows, columns in ((1, 1), (3, 10), (2, 200), (9, 30), (24, 80)):
    terminal.resize(rows, columns)
    terminal.read(0.3)
terminal.type(b"\x0c")
terminal.wait_for(r"^on-CPU ")
terminal.type(b"q")
terminal.end_with(0)
terminal.close()

for how in ("Ctrl-C", "SIGTERM", "hang-up"):
    terminal = Terminal(TOP, rows=10, columns=60)
    terminal.wait_for(r"^ *% +\+- ")
    if how == "Ctrl-C":
        terminal.type(b"\x03")
    else:
        terminal.kill(signal.SIGTERM if how == "SIGTERM" else signal.SIGHUP)
    terminal.end_with(0)
    terminal.close()

# One message, before anything is sampled, and nothing that would place text.
for term, says in (("", "$TERM does not say what terminal this is"),
                   ("no-such-terminal", "no terminal is known by the name 'no-such-terminal' ($TERM)"),
                   ("dumb", "text cannot be placed on a terminal of the kind 'dumb' ($TERM)")):
    terminal = Terminal([word for word in TOP if word != "-q"], term=term)
    terminal.end_with(1)
    assert terminal.sent == f"culprit: {says}; --batch prints tables\r\n".encode(), terminal.sent
    terminal.close()
PYTHON
