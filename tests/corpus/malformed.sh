. "$SOURCE/tests/lib.sh"
# Damaged recordings, found ones and outside recordings cut at many places: one message that names
# the file and the place, exit status 1, nothing on stdout; with --force what came before. Never a
# signal, never more than 3 times the file's size and 64 MB, never long.
# beside others
corpus="$SOURCE/../shared/corpus"
[ -d "$corpus/perfdata" ] || skip "no folder with outside recordings"
need_command python3
CULPRIT="$CULPRIT" CORPUS="$corpus" python3 - <<'PYTHON'
import glob, os, re, signal, subprocess, sys, tempfile, time

culprit, corpus = os.environ["CULPRIT"], os.environ["CORPUS"]
SECONDS = 20
failures, ran, kept_something = [], 0, 0

def run(path, *options):
    """Exit status (negative: signal), stdout, stderr, MB of memory, seconds."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        start = time.monotonic()
        child = subprocess.Popen([culprit, "report", "-q", "--stash-only", *options, path], stdout=out, stderr=err)
        signal.signal(signal.SIGALRM, lambda *_: child.kill())
        signal.alarm(SECONDS)
        _, status, usage = os.wait4(child.pid, 0)
        signal.alarm(0)
        child.returncode = status
        out.seek(0), err.seek(0)
        code = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
        return (code, out.read().decode(errors="replace"), err.read().decode(errors="replace"),
                usage.ru_maxrss * 1024 / 1e6, time.monotonic() - start)

def check(path, name, must_refuse, must_say_place=True):
    global ran, kept_something
    size = os.path.getsize(path) / 1e6
    for options in ([], ["--force"]):
        code, out, err, megabytes, seconds = run(path, *options)
        ran += 1
        what = f"{name} {' '.join(options)}"
        hard = [line for line in err.splitlines() if not line.startswith("culprit: warning: ")]
        if code not in (0, 1):
            failures.append(f"{what}: ended with {code} after {seconds:.1f} s: {err[-300:]}")
        if megabytes > 3 * size + 64:
            failures.append(f"{what}: {megabytes:.0f} MB for a file of {size:.3f} MB")
        if code == 1 and (out or len(hard) != 1):
            failures.append(f"{what}: refused with {len(hard)} messages: {err[:300]!r} and output {out[:60]!r}")
        if code == 1 and os.path.basename(path) not in err:
            failures.append(f"{what}: the message names no file: {err[:200]!r}")
        if not options and must_refuse and code != 1:
            failures.append(f"{what}: was not refused")
        if not options and code == 1 and must_say_place and not re.search(r"\b(byte|line|offset) \d", err):
            failures.append(f"{what}: the message says no place: {err[:200]!r}")
        if options and code == 0:
            kept_something += 1

# as found; that there is no place to name in a file of another format is no fault
for path in sorted(glob.glob(corpus + "/perfdata/malformed/*") + glob.glob(corpus + "/perfdata/derived/trunc*")):
    check(path, os.path.relpath(path, corpus), False, False)

CUTS = (0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.97, 0.999)
whole = [corpus + "/perfdata/" + name for name in (
    "linux/perf.data.singleprocess-3.4", "linux/perf.data.callgraph_and_branch-3.4", "linux/hotspot.PerfFormatLost",
    "linux/perf.data.intel_pt-4.14", "pipe/perf.data.piped.header_feautres_group_desc-6.8",
    "compressed/sleep.compressed.data", "compressed/sleep.compressed2.data", "compressed/sleep.compressed.pipe.data",
    "derived/perf.data.singleprocess-3.4.be", "simpleperf/simpleperf-perf_with_symbols.data")]
whole += [corpus + "/pprof/speedscope-simple.prof", corpus + "/pprof/cppbench.cpu"]
with tempfile.TemporaryDirectory() as folder:
    for path in whole:
        content = open(path, "rb").read()
        for share in CUTS:
            cut = os.path.join(folder, "cut.data")
            size = int(len(content) * share)
            open(cut, "wb").write(content[:size])
            # a record stream that is cut between two records, and a text, can't know of it
            check(cut, f"{os.path.basename(path)} cut to {size}", False, False)

for failure in failures:
    print("failed:", failure, file=sys.stderr)
print(f"{ran} runs, {kept_something} with --force gave a report")
sys.exit(1 if failures or kept_something == 0 else 0)
PYTHON
