# A daemon that does not answer: top ends all the same, by q and by signals, whether it has never answered
# or falls silent later. One that nobody named and that refuses is none: top samples by itself.
. "$SOURCE/tests/lib.sh"
need_recording system
need_command python3
export XDG_RUNTIME_DIR="$PWD/run"
mkdir -p run/culprit
python3 -B - <<'PYTHON'
import os
import signal
import socket
import subprocess
import sys

sys.path.insert(0, os.environ["SOURCE"] + "/tests")
from made_up_daemon import Daemon, snapshot
from terminal import Terminal

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def end(terminal, how):
    terminal.type(how) if isinstance(how, bytes) else terminal.kill(how)
    terminal.end_with(0)
    terminal.close()


some = snapshot(0, 1, alpha=100)
refusal = b"error it is paused\n"

# The silent one has more patience than end_with(): top that waits for it fails.
silent = Daemon("silent", None)
for how in (b"q", b"\x1b", b"\x03", *SIGNALS):
    terminal = Terminal(["culprit", "top", "--socket", "silent"], columns=80)
    silent.expect_asked()
    terminal.wait_for("^waiting for an answer of the daemon at 'silent'$")
    end(terminal, how)
for number in SIGNALS:
    batch = subprocess.Popen(["culprit", "top", "-b", "--socket", "silent"], stdout=subprocess.DEVNULL)
    silent.expect_asked()
    batch.send_signal(number)
    assert batch.wait(timeout=30) == 0, batch.returncode

# One that lets nobody in: its queue is full.
full = socket.socket(socket.AF_UNIX)
full.bind("full")
full.listen(0)
waits = [socket.socket(socket.AF_UNIX) for _ in range(2)]
for client in waits:
    client.setblocking(False)
    client.connect_ex("full")
terminal = Terminal(["culprit", "top", "--socket", "full"], columns=80)
terminal.wait_for("^waiting for an answer of the daemon at 'full'$")
end(terminal, b"q")

later = Daemon("later", some, some, None)
terminal = Terminal(["culprit", "top", "--socket", "later", "-d", "100ms"], columns=80)
later.expect_asked(3)
terminal.wait_for("of the daemon's samples")
end(terminal, b"q")

# Why no more come stays, whatever else there is to remark: here that there is no CPI to sort by.
Daemon("ends", some, some, refusal)
terminal = Terminal(["culprit", "top", "--socket", "ends", "-d", "100ms"], columns=120)
terminal.wait_for("^the daemon refuses: it is paused; q quits")
terminal.type(b"s")
terminal.wait_for("no CPI to sort by")
terminal.type(b"j")
terminal.wait_for("^the daemon refuses: it is paused; q quits")
terminal.type(b"?")
terminal.wait_for("^q back")
terminal.type(b"q")
terminal.wait_for("^the daemon refuses: it is paused; q quits")
end(terminal, b"q")

# The usual place.
Daemon("run/culprit/control", refusal)
terminal = Terminal(["culprit", "top", "-q", "-d", "200ms"], columns=80)
terminal.wait_for("^on-CPU .* of own samples")
end(terminal, b"q")
PYTHON
