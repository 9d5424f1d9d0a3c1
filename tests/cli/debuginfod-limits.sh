# What servers of debug files send has limits of size and time, also where they give no end of it,
# what was not fetched for that is told, and an interrupt ends the wait.
. "$SOURCE/tests/lib.sh"
need_command python3
ldconfig -p 2>/dev/null | grep -q 'libdebuginfod\.so\.1' || { echo "libdebuginfod is not installed"; exit 77; }
PYTHONPATH="$SOURCE/tests" python3 -B - <<'END'
import http.server, os, signal, subprocess, threading, time
from protobuf import message, number, varint

asked = []
answering = threading.Event()


class Server(http.server.BaseHTTPRequestHandler):
    def log_message(self, *words):
        pass

    def do_GET(self):
        way = self.path.split("/")[1]
        asked.append(way)
        answering.set()
        try:
            if way == "silent":
                time.sleep(300)
            self.send_response(200)
            if way == "large":
                self.send_header("Content-Length", str(1 << 40))
            self.end_headers()
            while True:
                self.wfile.write(b"x" if way == "slow" else b"x" * 65536)
                time.sleep(0.02 if way == "slow" else 0.002)
        except OSError:
            self.close_connection = True


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
server.daemon_threads = True
threading.Thread(target=server.serve_forever, daemon=True).start()


def profile(images):
    """Of files that are not here, one sample in each."""
    texts = [b"", b"cpu", b"nanoseconds"]
    out = message(1, number(1, 1) + number(2, 2))
    for i in range(1, images + 1):
        name, build = len(texts), len(texts) + 1
        texts += [b"/nowhere/%d" % i, b"%040x" % (i + (1 << 150))]
        addresses = number(2, 1 << 20) + number(3, 1 << 21)
        out += message(3, number(1, i) + addresses + number(5, name) + number(6, build))
        out += message(4, number(1, i) + number(2, i) + number(3, (1 << 20) + 64))
        out += message(2, message(1, varint(i)) + message(2, b"\1"))
    with open("profile", "wb") as file:
        file.write(out + b"".join(message(6, text) for text in texts))


def start(way, **limits):
    asked.clear()
    answering.clear()
    environment = {name: text for name, text in os.environ.items() if "DEBUGINFOD" not in name}
    environment["DEBUGINFOD_URLS"] = f"http://127.0.0.1:{server.server_port}/{way}"
    environment["no_proxy"] = "127.0.0.1"
    environment["ASAN_OPTIONS"] = "detect_leaks=0"  # libdebuginfod leaves files open
    environment["DEBUGINFOD_CACHE_PATH"] = os.path.abspath(f"cache-{way}")
    return subprocess.Popen(["culprit", "report", "-v", "--debuginfod", "profile"],
                            env=environment | limits, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))


def told(way, **limits):
    process = start(way, **limits)
    try:
        words = " ".join(process.communicate(timeout=60)[0].split())
        return [words[words.find("nothing was fetched"):]]
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return ["it does not end"]


profile(5)
print("slow:", *told("slow", DEBUGINFOD_MAXTIME="2"), sep="\n")
print("asked for all" if len(asked) >= 5 else "asked no more")
profile(1)
print("endless:", *told("endless", DEBUGINFOD_MAXTIME="30", DEBUGINFOD_MAXSIZE="1000000"), sep="\n")
print("large:", *told("large"), sep="\n")

# two of three are in time, for this machine may do something else in one
in_time = 0
for attempt in range(3):
    process = start("silent")
    answering.wait(40)
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    process.communicate()
    took = time.monotonic() - began
    in_time += took < 0.5
    if in_time == 2:
        break
print("interrupt:", "ends" if in_time == 2 else f"{took:.1f} s", process.returncode)
END
