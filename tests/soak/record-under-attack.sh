# Twenty hostile processes of one user beside a normal load of two others: recording ends within a second of its
# duration, the others' names are complete, what parses has 512 MB and root's process 100 MB at most.
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
start 65533 other/two_loops 2000000000000
start 65533 other/busy split $life

culprit record -q -a -F 1000 -o all.prof -- sh -c "sleep $seconds; date +%s.%N >ended" 2>said &
recorder=$!
while kill -0 $recorder 2>/dev/null; do
	for task in $recorder $(cat "/proc/$recorder/task/$recorder/children" 2>/dev/null); do
		awk -v root=$recorder '/^Pid:/ { pid = $2 } /^Name:/ { name = $2 }
			/^VmHWM:/ { print (pid == root ? "root" : name), $2 }' "/proc/$task/status" 2>/dev/null
	done
	sleep 0.02
done | sort -k 1,1 -k 2,2n | awk '{ most[$1] = $2 } END { for (name in most) print name, most[name] }' >memory
[ -e ended ] || fail "record: $(cat said)"
over=$(awk -v now="$(date +%s.%N)" '{ print now - $1 }' ended)
wait $recorder || fail "record: $(cat said)"
root=$(awk '$1 == "root" { print int($2 / 1024) }' memory)
parser=$(awk '$1 == "culprit-parse" { print int($2 / 1024) }' memory)
"$TOOLS/cells" all.prof >cells
awk -F '\t' '$1 == "cell" && $3 == "file" && ($11 == "two_loops" || $11 == "busy") {
	all += $6
	if ($10 ~ /^[a-z]/) named += $6
} END { print all + 0, named + 0 }' cells >counted
read -r all named <counted
echo "ended after $over s; root's process $root MB, what parses $parser MB; $named of $all samples of others named"
cat said
grep left_out cells | grep -v left_out_file || true
expect_between "samples of other users' programs" "$all" 10 1000000
expect_between "share of them with names" "$(ratio "$named" "$all")" 0.98 1
expect_between "memory of root's process in MB" "$root" 1 100
expect_between "memory of what parses in MB" "$parser" 1 512
expect_between "seconds that it took to end" "$over" 0 1
