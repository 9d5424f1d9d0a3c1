# Whatever ends top gives the terminal back, also what nobody waits for; Ctrl-Z gives it back until it
# goes on, and then the tables are there again.
. "$SOURCE/tests/lib.sh"
need_recording system
need_command python3 stty
"$KERNELS/busy" split 120 &
loop=$!
export LOOP=$loop
trap 'kill $loop 2>/dev/null || true' EXIT
ulimit -c 0
cat >job <<'JOB'
culprit top -q -e cpu-clock -d 300ms -p $LOOP
echo "stopped with $?"
stty -a >stopped
read line
fg >said
echo "ended with $?"
read line
JOB
python3 -B - <<'PYTHON'
import os
import signal
import sys
import termios

sys.path.insert(0, os.environ["SOURCE"] + "/tests")
from terminal import Terminal

TOP = ["culprit", "top", "-q", "-e", "cpu-clock", "-d", "300ms", "-p", os.environ["LOOP"]]

for name in ("QUIT", "SEGV", "ABRT", "USR1", "TERM", "HUP", "INT"):
    number = getattr(signal, "SIG" + name)
    terminal = Terminal(TOP, rows=24, columns=80, term="xterm")
    terminal.wait_for(r"^ *% +\+- ")
    assert termios.tcgetattr(terminal.end) != terminal.before, "top has not taken the terminal"
    terminal.type(b"\x1c") if name == "QUIT" else terminal.kill(number)
    terminal.end_with(0 if name in ("TERM", "HUP", "INT") else -number)
    assert b"\x1b[?1049l" in terminal.sent[-100:], f"the display is not as it was before: {terminal.sent[-100:]}"
    terminal.close()

# A shell with jobs, which does nothing about the terminal's modes itself.
terminal = Terminal(["sh", "-m", "job"], rows=24, columns=80)
for how in (b"\x1a", None):
    terminal.wait_for(r"^ *% +\+- ")
    if how:
        terminal.type(how)
        terminal.wait_for(r"^stopped with")
        assert termios.tcgetattr(terminal.end) == terminal.before, "a stopped top keeps the terminal"
        terminal.resize(12, 70)
        terminal.type(b"\n")
        terminal.wait_for(r"^ *% +\+- ")
        terminal.wait_for(r"^by procedure, most time first")
        assert "by procedure" in terminal.screen.lines()[11], terminal.text()
terminal.type(b"b")
terminal.wait_for(r"^by image")
terminal.type(b"q")
terminal.wait_for(r"^ended with 0")
assert termios.tcgetattr(terminal.end) == terminal.before, "the terminal is not as it was before"
terminal.close()
PYTHON
