# A daemon that is killed around its merges, again and again (40 times; with LONG_FORM=1 200 times): after
# each kill the database is sound, every epoch that was merged has as many samples as before or more, and the
# next daemon goes on.
. "$SOURCE/tests/lib.sh"
need_recording system
need_command python3
rounds=40
[ -z "${LONG_FORM:-}" ] || rounds=200
"$KERNELS/two_loops" 2000000000000 >/dev/null &
load=$!
trap 'kill $load 2>/dev/null || true; ! [ -s daemon.pid ] || kill -KILL "$(cat daemon.pid)" 2>/dev/null || true' EXIT
python3 - "$rounds" <<'PYTHON'
import glob, json, os, random, subprocess, sys, time

rounds = int(sys.argv[1])
random.seed(rounds)

def fail(text):
    sys.exit("failed: round %d: %s" % (number, text))

def merged(*selection):
    """Samples by epoch, of all that the database has now; {} before the first merge."""
    listed = subprocess.run(["culprit", "db", "list", "--samples", "--json", "db", *selection],
                            capture_output=True, text=True)
    if listed.returncode:
        fail("db list ended with %d: %s" % (listed.returncode, listed.stderr))
    epochs = json.loads(listed.stdout)["epochs"]
    return {epoch["epoch"]: epoch["samples"] for epoch in epochs if epoch["samples"]}

def compare(before, after, what):
    for epoch, samples in before.items():
        if after.get(epoch, 0) < samples:
            fail("%s: %s had %d samples and has %d" % (what, epoch, samples, after.get(epoch, 0)))

def await_merge(daemon):
    """Until the database has an epoch more than before. Returns what is new."""
    while True:
        if daemon.poll() is not None:
            fail("the daemon ended with %d: %s" % (daemon.returncode, open("said").read()))
        now = merged("--since", "30s") if glob.glob("db/*/*.open") else {}
        if now.keys() - last.keys():
            return now
        time.sleep(0.05)

last, number = {}, 0
begin = time.monotonic()
for number in range(1, rounds + 1):
    # Every fifth has epochs that end while it runs.
    epoch = "1s" if number % 5 == 0 else "1h"
    with open("said", "w") as said:
        daemon = subprocess.Popen(["culprit", "daemon", "--config", "/dev/null", "-o", "db", "--no-socket", "-e", "cpu-clock",
                                   "--merge-interval", "100ms", "--epoch", epoch, "--no-stacks", "--no-stash"], stderr=said)
    with open("daemon.pid", "w") as pid:
        pid.write(str(daemon.pid))
    seen = await_merge(daemon)
    time.sleep(random.random() * (1.3 if epoch == "1s" else 0.15))
    daemon.kill()
    daemon.wait()
    said = open("said").read()
    if "cannot" in said or "kept as" in said:
        fail("the daemon says: " + said)
    check = subprocess.run(["culprit", "check", "-q", "db"], capture_output=True, text=True)
    if check.returncode:
        fail("check ended with %d: %s%s" % (check.returncode, check.stdout, check.stderr))
    now = merged()
    compare(last, now, "before this daemon")
    compare(seen, now, "before the kill")
    last = now
os.remove("daemon.pid")
print("%d kills in %.0f s, %d samples in the end" % (rounds, time.monotonic() - begin, sum(last.values())))
PYTHON
[ "$(ls -d db/*/*.damaged 2>/dev/null | wc -l)" = 0 ] || fail "something was put aside: $(ls db/*)"
