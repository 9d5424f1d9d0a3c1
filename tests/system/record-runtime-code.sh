# Code made at run time has the names that its maker tells; a map that cannot be trusted is not
# read, does not hold up the recording, and is said.
# beside others
. "$SOURCE/tests/lib.sh"
need_cpu_sampling

work() {
	expect_status 0 timeout 30 culprit record -F 1000 -o "$1.prof" -- "$KERNELS/jitted" "$1" "$2" 2>err
}
named() {
	work "$1" "$2"
	expect_between "samples of $3 with '$1'" "$(samples "$1.prof" 3 jit 10 "$3")" "$4" 500
	expect_equal "samples of run-time code with '$1'" "$(samples "$1.prof" 3 jit)" "$(samples "$1.prof" 10 "$3")"
}
quiet() {
	! grep -q "at run time" err || fail "'$1' was warned of: $(cat err)"
}
named map 0.25 jit_mapped 50
quiet map
named dump 0.25 jit_dumped 50
quiet dump
named both 0.25 jit_dumped 50
culprit annotate -i both.prof jit_dumped >code || fail "no code from the jitdump"
expect_match "code of the jitdump" "$(cat code)" "(dec|sub)"

# Code that is loaded over other code: each sample belongs to what was there at its time. By the
# program's CPU time the second's share is 0.09; a host that takes the CPU away added 0.06. Who keeps
# the name that was told first, or last, says 0 or 1; who is 50 ms late 0.02 or 0.17.
for told in maptwice dumptwice; do
	work "$told" 0.6
	first=$(samples "$told.prof" 3 jit 10 jit_first)
	second=$(samples "$told.prof" 3 jit 10 jit_second)
	expect_between "samples with '$told'" $((first + second)) 300 1200
	expect_between "share of jit_second with '$told'" "$(ratio "$(estimate "$told.prof" 3 jit 10 jit_second)" \
		"$(estimate "$told.prof" 3 jit)")" 0.03 0.165
	expect_equal "samples without a name with '$told'" "$(samples "$told.prof" 3 jit)" $((first + second))
done
for function in jit_first jit_second; do
	culprit annotate -i dumptwice.prof $function >code || fail "no code of $function from the jitdump"
	expect_match "code of $function" "$(cat code)" "(dec|sub)"
done

# The process is gone when its map is looked for.
remove_left() {
	for map in /tmp/perf-*.map; do
		! grep -qs jit_mapped "$map" || rm -f "$map"
	done
}
trap remove_left EXIT
named left 0.02 jit_mapped 2
named late 0.1 jit_mapped 20
remove_left

hostile() {
	work "$1" 0.25
	expect_between "samples of run-time code with '$1'" "$(samples "$1.prof" 3 jit)" 25 500
	expect_match "warning" "$(cat err)" "^culprit: warning: names of code that process [0-9]+ made at run time are missing: '/tmp/perf-[0-9]+\.map'$2"
	expect_equal "samples with a name" "$(samples "$1.prof" 10 jit_mapped)" "$3"
}
hostile fifo " is not a regular file\$" 0
hostile link " is a symbolic link\$" 0
hostile huge " has 10000000000 bytes, more than the [0-9]+ that are read\$" 0
[ "$(id -u)" != 0 ] || hostile foreign " belongs to user 65534, its process to user 0\$" 0
