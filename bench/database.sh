# What a report on a part of a database costs, of 10 epochs and of BENCH_EPOCHS (200; the full form 2000) of an hour
# each: it follows the epochs that are selected, not those that exist. Then what pruning and compacting all cost, and how much that saves.
. "$SOURCE/tests/lib.sh"
need_command python3

many=${BENCH_EPOCHS:-200}
for count in 10 "$many"; do
	"$TOOLS/make-database" "db$count" web7 0 "$count" 3600
done

echo "machine: $(uname -srm), $(nproc) CPUs"
python3 - "$CULPRIT" "${BENCH_ROUNDS:-3}" "$many" <<'PYTHON'
import os, subprocess, sys, time

culprit, rounds, many = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
START, HOUR = 1700000000, 3600

def stamp(hours):
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(START + hours * HOUR))

def cpu_ms(*arguments):
    """Least CPU time of some runs."""
    least = []
    for _ in range(rounds):
        process = subprocess.Popen([culprit, *arguments], stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        assert status == 0, arguments
        least.append(1000 * (usage.ru_utime + usage.ru_stime))
    return min(least)

def size(folder):
    files = [os.path.join(path, name) for path, _, names in os.walk(folder) for name in names]
    return len(files), sum(os.lstat(file).st_blocks * 512 for file in files)

for what, few_options, many_options in (
        ("the last epoch by its name", ["--epoch", time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(START + 9 * HOUR))],
         ["--epoch", time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(START + (many - 1) * HOUR))]),
        ("the last two, --since", ["--since", stamp(8)], ["--since", stamp(many - 2)]),
        ("the first two, --until", ["--until", stamp(2)], ["--until", stamp(2)]),
        ("all", [], [])):
    few, all_of = cpu_ms("report", "db10", *few_options), cpu_ms("report", f"db{many}", *many_options)
    print(f"{what:27}: 10 epochs {few:6.1f} ms of CPU, {many} epochs {all_of:7.1f} ms, ratio {all_of / few:.2f}")
print(f"list                       : {many} epochs {cpu_ms('db', 'list', f'db{many}'):.1f} ms")
print(f"prune, nothing to remove   : {many} epochs {cpu_ms('db', 'prune', f'db{many}'):.1f} ms")
before = size(f"db{many}")
rounds = 1
taken = cpu_ms("db", "compact", f"db{many}")
after = size(f"db{many}")
print(f"compact                    : {many} epochs {taken:.1f} ms, {before[0]} files of {before[1]} bytes "
      f"became {after[0]} of {after[1]}")
PYTHON
