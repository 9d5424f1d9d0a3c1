# What an ordinary user's files cost whoever records as root: debug information made to take for ever,
# holes of gigabytes, perf maps without end. Recording ends in time, others' names are complete, and
# what was left out is told.
. "$SOURCE/tests/lib.sh"
need_root
need_command setpriv python3 objcopy cc
need_cpu_sampling

chmod 755 . .. ../.. 2>/dev/null || true
mkdir -m 777 theirs
stranger() {
	setpriv --reuid 65534 --regid 65534 --clear-groups "$@"
}
stranger true 2>/dev/null || skip "another user cannot run programs here"
cp "$SOURCE/tests/tools/hostile" theirs/
for kind in lines inlined symbols; do
	"$SOURCE/tests/tools/hostile" make $kind theirs/$kind 4 2>make.err || skip "cannot make it: $(cat make.err)"
done
"$SOURCE/tests/tools/hostile" make sparse theirs/sparse 7000 2>make.err || skip "no sparse file: $(cat make.err)"
chown 65534:65534 theirs/*

# Another stranger's program, whose names nobody may take away.
mkdir -m 755 other
cp "$KERNELS/two_loops" other/
chown -R 65533:65533 other
setpriv --reuid 65533 --regid 65533 --clear-groups other/two_loops 2000000000000 &
load=$!
stranger python3 theirs/hostile map sparse 8000 4 2>/dev/null &
stranger python3 theirs/hostile map growing 4 2>/dev/null &
stranger python3 theirs/hostile map rewritten 4 2>/dev/null &
for kind in lines inlined symbols sparse; do stranger theirs/$kind 4 & done
trap 'kill $load 2>/dev/null || true' EXIT

# The memory of root's process, and of those that read for it, as the kernel counted it.
watch() {
	while kill -0 "$1" 2>/dev/null; do
		for task in "$1" $(cat "/proc/$1/task/$1/children" 2>/dev/null); do
			cat "/proc/$task/status" 2>/dev/null |
				awk -v root="$1" '/^Pid:/ { pid = $2 } /^Name:/ { name = $2 } /^VmHWM:/ { print (pid == root ? "root" : name), $2 }'
		done
		sleep 0.05
	done | sort -k 1,1 -k 2,2n | awk '{ most[$1] = $2 } END { for (name in most) print name, most[name] }' >memory
}
peak() {
	awk -v name="$1" '$1 == name { print int($2 / 1024) }' memory
}
culprit record -q -a -F 500 -o all.prof -- sh -c 'sleep 1; date +%s.%N >ended' 2>said &
recorder=$!
watch $recorder
wait $recorder || fail "record: $(cat said)"
over=$(awk -v now="$(date +%s.%N)" '{ print now - $1 }' ended)
# Others may keep this machine busy beside us: that is theirs to tell, in tests/soak. Without limits it is 60 s.
expect_between "seconds that it took to end" "$over" 0 10
expect_between "memory of root's process in MB" "$(peak root)" 1 100
expect_between "memory of what parses in MB" "$(peak culprit-parse)" 1 512
expect_match "what was said" "$(cat said)" "left out, for .*theirs/.* of user 65534.*; --gather-limits"
expect_match "bill" "$("$TOOLS/cells" all.prof | grep left_out)" "left_out_(lines|code|names)_time"
expect_match "bill" "$("$TOOLS/cells" all.prof | grep left_out)" "left_out_file_.*/theirs/"
expect_match "report" "$(culprit report all.prof)" "left out, as it would have cost too much: .*time"
"$TOOLS/cells" all.prof | awk -F '\t' '$1 == "cell" && $3 == "file" && $11 == "two_loops" {
	all += $6
	if ($10 ~ /^(loop_[0-9]+|main)$/) named += $6
} END { print all + 0, named + 0 }' >counted
read -r own named <counted
expect_between "samples of another user's program" "$own" 5 100000
expect_between "share of them with its procedures' names" "$(ratio "$named" "$own")" 0.9 1
