"""A program in a terminal of its own: what stands on its screen, and keys for it.

The screen understands what programs send to a vt100 or an xterm, and of that what places text; a sequence that it does not know is an
error, so that nothing is overlooked.
"""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
import unicodedata

SEQUENCE = re.compile(rb"\x1b(?:\[([?0-9;]*)([A-Za-z])|([()][A-Z0-9]|[=>78MDE]))|([\r\n\b\x0e\x0f\x07\x00])")
PARTIAL = re.compile(rb"\x1b(?:\[[?0-9;]*)?$|\x1b[()]$|[\xc2-\xf4][\x80-\xbf]{0,2}$")


class Screen:
    def __init__(self, rows, columns):
        self.resize(rows, columns)
        self.rest = b""
        self.last = " "

    def resize(self, rows, columns):
        self.rows, self.columns = rows, columns
        self.cells = [[" "] * columns for _ in range(rows)]
        self.row = self.column = self.top = 0
        self.bottom = rows - 1

    def lines(self):
        return ["".join(row).rstrip() for row in self.cells]

    def feed(self, data):
        data, self.rest = self.rest + data, b""
        at = 0
        while at < len(data):
            found = SEQUENCE.match(data, at)
            if found:
                self.obey(found)
                at = found.end()
                continue
            if PARTIAL.match(data, at):
                self.rest = data[at:]
                return
            first = data[at]
            size = 1 if first < 0x80 else 2 if first < 0xE0 else 3 if first < 0xF0 else 4
            character = data[at:at + size].decode()
            if unicodedata.category(character) in ("Cc", "Cf"):
                raise AssertionError(f"the terminal is sent {data[max(0, at - 20):at + 20]!r}")
            self.put(character)
            at += size

    def put(self, character):
        if unicodedata.combining(character):
            return
        wide = unicodedata.east_asian_width(character) in "WF"
        self.last = character
        for piece in (character, "") if wide else (character,):
            if self.row < self.rows and self.column < self.columns:
                self.cells[self.row][self.column] = piece
            self.column += 1

    def go_down(self):
        if self.row == self.bottom:
            del self.cells[self.top]
            self.cells.insert(self.bottom, [" "] * self.columns)
        else:
            self.row = min(self.row + 1, self.rows - 1)

    def go_up(self):
        if self.row == self.top:
            del self.cells[self.bottom]
            self.cells.insert(self.top, [" "] * self.columns)
        else:
            self.row = max(self.row - 1, 0)

    def change_line(self, letter, count):
        """Empties, takes out or puts in so many cells."""
        if self.row >= self.rows:
            return
        line = self.cells[self.row]
        before, after = line[:self.column], line[self.column:]
        after = [" "] * count + after[0 if letter == b"@" else count:] if letter != b"P" else after[count:]
        self.cells[self.row] = (before + after + [" "] * count)[:self.columns]

    def shift_lines(self, letter, count):
        """Puts lines in, takes them out, or scrolls."""
        top = self.row if letter in (b"L", b"M") else self.top
        for _ in range(min(count, self.rows)):
            takes = top if letter in (b"M", b"S") else self.bottom
            del self.cells[takes]
            self.cells.insert(self.bottom if takes == top else top, [" "] * self.columns)

    def obey(self, found):
        parameters, letter, other, control = found.groups()
        if control == b"\r":
            self.column = 0
        elif control == b"\n" or other == b"D":
            self.go_down()
        elif other == b"M":
            self.go_up()
        elif control == b"\b":
            self.column = max(self.column - 1, 0)
        if not letter or parameters.startswith(b"?"):
            return
        numbers = [int(n) if n else 0 for n in parameters.split(b";")]
        first = numbers[0] or 1
        if letter == b"H":
            self.row, self.column = first - 1, (numbers[1] if len(numbers) > 1 and numbers[1] else 1) - 1
        elif letter == b"A":
            self.row = max(self.row - first, 0)
        elif letter == b"B":
            self.row = min(self.row + first, self.rows - 1)
        elif letter == b"C":
            self.column += first
        elif letter == b"D":
            self.column = max(self.column - first, 0)
        elif letter == b"K":
            ends = {0: (self.column, self.columns), 1: (0, self.column + 1), 2: (0, self.columns)}[numbers[0]]
            for column in range(ends[0], min(ends[1], self.columns)):
                if self.row < self.rows:
                    self.cells[self.row][column] = " "
        elif letter == b"J":
            for row in range(self.row, self.rows):
                for column in range(self.column if row == self.row else 0, self.columns):
                    self.cells[row][column] = " "
        elif letter == b"r":
            self.top = first - 1
            self.bottom = min(numbers[1] if len(numbers) > 1 and numbers[1] else self.rows, self.rows) - 1
            self.row = self.column = 0
        elif letter == b"b":
            for _ in range(first):
                self.put(self.last)
        elif letter == b"d":
            self.row = first - 1
        elif letter == b"G":
            self.column = first - 1
        elif letter in (b"X", b"P", b"@"):
            self.change_line(letter, first)
        elif letter in (b"L", b"M", b"S", b"T"):
            self.shift_lines(letter, first)
        elif letter not in b"mhlt":
            raise AssertionError(f"the terminal is sent {found.group()!r}, which this screen does not know")


class Terminal:
    def __init__(self, command, rows=40, columns=120, term="vt100", **variables):
        self.screen = Screen(rows, columns)
        self.sent = b""
        self.master, self.end = pty.openpty()
        self.set_size(rows, columns)
        self.before = termios.tcgetattr(self.end)
        environment = {**os.environ, "TERM": term, **variables}
        self.process = subprocess.Popen(command, stdin=self.end, stdout=self.end, stderr=self.end, env=environment,
                                        start_new_session=True, preexec_fn=Terminal.enter)

    @staticmethod
    def enter():
        """In the new process: a job of this terminal, which keys can end though we run in the background."""
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        for number in (signal.SIGINT, signal.SIGQUIT):
            signal.signal(number, signal.SIG_DFL)

    def set_size(self, rows, columns):
        fcntl.ioctl(self.end, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def resize(self, rows, columns):
        self.screen.resize(rows, columns)
        self.set_size(rows, columns)

    def read(self, seconds):
        """Takes what is there, or comes so soon."""
        while select.select([self.master], [], [], seconds)[0]:
            try:
                data = os.read(self.master, 65536)
            except OSError:
                return
            self.sent += data
            self.screen.feed(data)
            seconds = 0

    def type(self, keys):
        os.write(self.master, keys)

    def text(self):
        return "\n".join(self.screen.lines())

    def wait_for(self, what, seconds=60):
        """Until the screen holds what the pattern says; returns the match."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found = re.search(what, self.text(), re.M)
            if found:
                return found
            if self.process.poll() is not None:
                self.read(0.2)
                raise AssertionError(f"it ended with {self.process.returncode} before {what!r} came:\n{self.text()}")
            self.read(0.1)
        raise AssertionError(f"{what!r} did not come:\n{self.text()}")

    def end_with(self, status, seconds=30):
        """Waits for its end, which leaves the terminal as it was."""
        end = time.monotonic() + seconds
        while self.process.poll() is None and time.monotonic() < end:
            self.read(0.1)
        if self.process.poll() is None:
            self.process.kill()
            raise AssertionError(f"it did not end:\n{self.text()}")
        self.read(0.2)
        assert self.process.returncode == status, f"it ended with {self.process.returncode}, not {status}:\n{self.text()}"
        assert termios.tcgetattr(self.end) == self.before, "the terminal is not as it was before"

    def kill(self, number=signal.SIGTERM):
        os.kill(self.process.pid, number)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.master)
        os.close(self.end)
