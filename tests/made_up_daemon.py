"""Something that answers where a daemon should: each who asks receives the next answer."""

import os
import socket
import subprocess
import threading


def snapshot(epoch, seconds, **figures):
    """A daemon's answer: procedures and their samples (tests/tools/make-snapshot.c)."""
    words = [f"{name}={figure}" for name, figure in figures.items()]
    subprocess.run([os.environ["TOOLS"] + "/make-snapshot", "made-up.prof", str(epoch), str(seconds), *words], check=True)
    with open("made-up.prof", "rb") as file:
        profile = file.read()
    return b"ok %d\n" % len(profile) + profile


class Daemon:
    """The last answer is given again and again; None is none: who asks then is kept waiting."""

    def __init__(self, path, *answers, backlog=16):
        self.answers = list(answers)
        self.asked = threading.Semaphore(0)
        self.waiting = []
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen(backlog)
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            client = self.listener.accept()[0]
            while not client.recv(100).endswith(b"\n"):
                pass
            answer = self.next()
            if answer is None:
                self.waiting.append(client)
            else:
                client.sendall(answer)
                client.close()
            self.asked.release()

    def go_on(self, *answers):
        """Answers whoever waits, and gives these answers from then on."""
        self.answers = list(answers)
        waiting, self.waiting = self.waiting, []
        for client in waiting:
            client.sendall(self.next())
            client.close()

    def next(self):
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    def expect_asked(self, times=1):
        for _ in range(times):
            assert self.asked.acquire(timeout=60), "nobody asks the daemon"
