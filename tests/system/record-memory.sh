# Programs of two other users whose stacks and branches have nothing in common: root's process stays below 100 MB,
# and what it had no room for is in the bill.
. "$SOURCE/tests/lib.sh"
need_root
need_command setpriv python3
need_cpu_sampling

chmod 755 . .. ../.. 2>/dev/null || true
setpriv --reuid 65534 --regid 65534 --clear-groups true 2>/dev/null || skip "another user cannot run programs here"
mkdir -m 777 theirs
cp "$KERNELS/distinct" theirs/
chmod 755 theirs/distinct
running=
start() { # USER COMMAND...: not by a function, whose number would be a shell's
	user=$1
	shift
	setpriv --reuid "$user" --regid "$user" --clear-groups "$@" 2>/dev/null &
	running="$running $!"
}
trap 'kill $running 2>/dev/null || true' EXIT
for user in 65534 100001; do
	start $user theirs/distinct stacks 90 theirs/stacks-$user
	start $user theirs/distinct branches 90
done
sleep 0.5
for stacks in -g "--call-graph fp"; do
	for seconds in 4 12 36; do
		"$SOURCE/tests/tools/watch-recorder" $seconds -q -a $stacks --edges -F 10000 -o all.prof >measured ||
			fail "record: $(cat said)"
		read -r root parser <<END
$(sed -n 2p measured)
END
		left_out=$(bill all.prof left_out_stacks)
		echo "$stacks, $seconds s: root's process $root MB, what parses $parser MB; left out: $left_out"
		expect_between "memory of root's process in MB" "$root" 1 100
		[ "$left_out" = 0 ] || break # on a busy machine there is room for longer
	done
	expect_between "frames of stacks left out" "$left_out" 1 1000000000
done
