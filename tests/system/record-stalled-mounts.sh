# A user's own file system, FUSE below an overlay in his user namespace, that never answers what the
# recorder's processes ask of it. It ends when it should, others' programs have their names, and
# what has none is told with the reason.
. "$SOURCE/tests/lib.sh"
need_root
need_command setpriv cc mknod
need_cpu_sampling
room=$(mktemp -d /tmp/culprit-stalled.XXXXXX) # where others may look
mounts=
recorder=
programs=
# The recorder first: what it waits for is let go with the mounts.
clean() {
	for process in $recorder $programs $mounts; do
		kill -KILL "$process" 2>/dev/null || true
	done
	wait 2>/dev/null || true
	rm -rf "$room"
}
trap clean EXIT
chmod 755 "$room"
cd "$room"
# For distributions it is everybody's; here it may be root's.
mknod -m 666 device c 10 229 2>/dev/null || skip "cannot make a device here"
printf 'int main(void) { for (volatile unsigned i = 0;; i++) ; }\n' >spin.c
cc -O1 -static spin.c -o spin
cat >victim.c <<'END'
static __attribute__((noinline)) void busy(void) { for (volatile int i = 0; i < 100000; i++) ; }
int main(void) { for (;;) busy(); }
END
cc -O1 victim.c -o victim

# stall NUMBER CALLER OPERATION: starts a program of user 65500 + NUMBER on such a mount
stall() {
	mkdir "mount$1"
	chown "$((65500 + $1))" "mount$1"
	setpriv --reuid=$((65500 + $1)) --regid=65534 --clear-groups \
		"$TOOLS/stalling-mount" "$room/device" "$room/mount$1" "$room/spin" "$2" "$3" \
		>"stalled$1" 2>"log$1" &
	mount_process=$!
	until [ -e "/proc/$mount_process/root$room/mount$1/merged/prog" ]; do
		kill -0 $mount_process 2>/dev/null || skip "$(cat "log$1")"
	done
	mounts="$mounts $mount_process"
}

# record_for TIME PROFILE: $passed_ms is how long it took; fails after 20 s
record_for() {
	begin=$(date +%s%N)
	culprit record -q -a -F 500 --duration "$1" -o "$2" 2>messages &
	recorder=$!
	for i in $(seq 200); do
		kill -0 $recorder 2>/dev/null || break
		sleep 0.1
	done
	! kill -0 $recorder 2>/dev/null || fail "recording for $1 hangs: $(cat "/proc/$recorder/wchan")"
	wait $recorder || fail "recording ended with $?: $(cat messages)"
	recorder=
	passed_ms=$((($(date +%s%N) - begin) / 1000000))
}

# The recorder itself holds nothing that it would have to wait for.
stall 1 culprit 25
record_for 1s one.prof
expect_between "milliseconds of a second's recording" "$passed_ms" 1000 3500
expect_equal "times that the recorder asked to close a file" "$(cat stalled1)" ""
kill -KILL $mounts
mounts=
