# Twenty-two hostile processes of one user beside a normal load of two others: recording ends within a second of its
# duration (on a machine that does more besides, or slowly, within one more than without them), and half a second after a signal that comes then;
# the others' names are complete, what parses has 512 MB and root's process 100 MB at most.
# ATTACK_SECONDS (10) of it.
. "$SOURCE/tests/lib.sh"
need_root
need_command setpriv python3 objcopy cc
need_cpu_sampling
seconds=${ATTACK_SECONDS:-10}

chmod 755 . .. ../.. 2>/dev/null || true
setpriv --reuid 65534 --regid 65534 --clear-groups true 2>/dev/null || skip "another user cannot run programs here"
mkdir -m 755 theirs other
cp "$SOURCE/tests/tools/hostile" "$KERNELS/distinct" theirs/
for kind in lines inlined nested compressed symbols; do
	for copy in 1 2; do "$SOURCE/tests/tools/hostile" make $kind theirs/$kind$copy 16; done
done
"$SOURCE/tests/tools/hostile" make sparse theirs/sparse1 7000
"$SOURCE/tests/tools/hostile" make sparse theirs/sparse2 3000
cp "$KERNELS/two_loops" "$KERNELS/busy" other/
chown -R 65534:65534 theirs
chown -R 65533:65533 other

life=$((seconds + 16))
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
	start 65534 theirs/distinct stacks $life theirs/stacks
	start 65534 theirs/distinct branches $life
}
start 65533 other/two_loops 2000000000000
start 65533 other/busy split $life

watch() { # SECONDS
	"$SOURCE/tests/tools/watch-recorder" "$1" -q -a -g --edges -F 1000 -o all.prof
}
# What this machine does besides is gathered from as well: how long that takes is not the attack's.
watch 2 >quiet || fail "record ended with $?: $(cat said)"
start_attack
watch "$seconds" >measured || fail "record ended with $?: $(cat said)"
cp all.prof whole.prof
# Two of three are in time, for the machine may stand still in one.
in_time=0
for attempt in 1 2 3; do
	[ $in_time -lt 2 ] || break
	INTERRUPT=0.1 watch 3 >interrupted || fail "record ended with $?: $(cat said)"
	after_signal=$(sed -n 3p interrupted) # nothing where it had ended before
	! awk -v s="${after_signal:-0}" 'BEGIN { exit !(s <= 0.5) }' || in_time=$((in_time + 1))
done
mv whole.prof all.prof
over=$(sed -n 1p measured)
root=$(awk 'NR == 2 { print $1 }' measured)
parser=$(awk 'NR == 2 { print $2 }' measured)
"$TOOLS/cells" all.prof >cells
awk -F '\t' '$1 == "cell" && $3 == "file" && ($11 == "two_loops" || $11 == "busy") {
	all += $6
	if ($10 ~ /^[a-z]/) named += $6
} END { print all + 0, named + 0 }' cells >counted
read -r all named <counted
echo "ended after $over s, by a signal ${after_signal:-before it} s after it, without them after $(sed -n 1p quiet) s; root's process $root MB, what parses $parser MB; $named of $all samples of others named"
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
expect_between "recordings that ended within half a second of a signal, last after ${after_signal:-0} s" $in_time 2 2
