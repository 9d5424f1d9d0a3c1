# Twenty hostile processes of one user beside a normal load of two others: recording ends within a second of its
# duration (on a machine that does more besides, or slowly, within one more than without them), the others' names are complete, what parses has 512 MB and root's process 100 MB at most.
# ATTACK_SECONDS (10) of it.
. "$SOURCE/tests/lib.sh"
need_root
need_command setpriv python3 objcopy cc
need_cpu_sampling
seconds=${ATTACK_SECONDS:-10}

chmod 755 . .. ../.. 2>/dev/null || true
setpriv --reuid 65534 --regid 65534 --clear-groups true 2>/dev/null || skip "another user cannot run programs here"
mkdir -m 755 theirs other
cp "$SOURCE/tests/tools/hostile" theirs/
for kind in lines inlined nested compressed symbols; do
	for copy in 1 2; do "$SOURCE/tests/tools/hostile" make $kind theirs/$kind$copy 16; done
done
"$SOURCE/tests/tools/hostile" make sparse theirs/sparse1 7000
"$SOURCE/tests/tools/hostile" make sparse theirs/sparse2 3000
cp "$KERNELS/two_loops" "$KERNELS/busy" other/
chown -R 65534:65534 theirs
chown -R 65533:65533 other

life=$((seconds + 8))
running=
start() { # USER COMMAND...: not by a function, whose number would be a shell's
	user=$1
	shift
	setpriv --reuid "$user" --regid "$user" --clear-groups "$@" 2>/dev/null &
	running="$running $!"
}
trap 'kill $running 2>/dev/null || true' EXIT
start_attack() {
	for kind in lines inlined nested compressed symbols sparse; do
		for copy in 1 2; do start 65534 theirs/$kind$copy $life; done
	done
	start 65534 python3 theirs/hostile map sparse 8000 $life
	start 65534 python3 theirs/hostile map growing $life
	start 65534 python3 theirs/hostile map growing $life
	start 65534 python3 theirs/hostile map rewritten $life
	start 65534 python3 theirs/hostile map mappings $life
	start 65534 python3 theirs/hostile map names $life
	start 65534 python3 theirs/hostile map files $life
	start 65534 python3 theirs/hostile map places $life
}
start 65533 other/two_loops 2000000000000
start 65533 other/busy split $life

# The end of the recorder and its memory are looked at by one small process: shells would wait for a CPU themselves.
cat >watch.py <<'END'
import subprocess, sys, time
said = open("said", "w")
recorder = subprocess.Popen(["culprit", "record", "-q", "-a", "-F", "1000", "-o", "all.prof", "--", "sh", "-c",
                             f"sleep {sys.argv[1]}; date +%s.%N >ended"], stderr=said)
most = {}
while recorder.poll() is None:
    try:
        tasks = open(f"/proc/{recorder.pid}/task/{recorder.pid}/children").read().split()
    except OSError:
        tasks = []
    for task in [str(recorder.pid), *tasks]:
        try:
            fields = dict(line.split(":", 1) for line in open(f"/proc/{task}/status"))
        except (OSError, ValueError):
            continue
        name = "root" if task == str(recorder.pid) else fields["Name"].strip()
        most[name] = max(most.get(name, 0), int(fields.get("VmHWM", "0").split()[0]))
    time.sleep(0.01)
print(time.time() - float(open("ended").read()))
print(most.get("root", 0) // 1024, most.get("culprit-parse", 0) // 1024)
sys.exit(recorder.returncode)
END
# What this machine does besides is gathered from as well: how long that takes is not the attack's.
python3 watch.py 2 >quiet || fail "record: $(cat said)"
start_attack
python3 watch.py "$seconds" >measured || fail "record: $(cat said)"
over=$(sed -n 1p measured)
root=$(awk 'NR == 2 { print $1 }' measured)
parser=$(awk 'NR == 2 { print $2 }' measured)
"$TOOLS/cells" all.prof >cells
awk -F '\t' '$1 == "cell" && $3 == "file" && ($11 == "two_loops" || $11 == "busy") {
	all += $6
	if ($10 ~ /^[a-z]/) named += $6
} END { print all + 0, named + 0 }' cells >counted
read -r all named <counted
echo "ended after $over s, without them after $(sed -n 1p quiet) s; root's process $root MB, what parses $parser MB; $named of $all samples of others named"
cat said
grep left_out cells | grep -v left_out_file || true
expect_between "samples of other users' programs" "$all" 10 1000000
expect_between "share of them with names" "$(ratio "$named" "$all")" 0.98 1
expect_between "memory of root's process in MB" "$root" 1 100
expect_between "memory of what parses in MB" "$parser" 1 512
# What it takes without them is 0.2 to 0.3 s where nothing else runs: what others ran is gathered from as well.
bound=$(awk 'NR == 1 { print $1 <= 0.4 ? 1 : $1 + 1 }' quiet)
echo "it had to end within $bound s"
expect_between "seconds that it took to end" "$over" 0 "$bound"
