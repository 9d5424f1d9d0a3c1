# A user's own file system, FUSE below an overlay in his user namespace, that never answers what the
# recorder's processes ask of it. It ends when it should, others' programs have their names, and
# what has none is told with the reason.
. "$SOURCE/tests/lib.sh"
. "$SOURCE/tests/stalled.sh"
printf 'int main(void) { for (volatile unsigned i = 0;; i++) ; }\n' >spin.c
cc -O1 -static spin.c -o spin
cat >victim.c <<'END'
static __attribute__((noinline)) void busy(void) { for (volatile int i = 0; i < ROUNDS; i++) ; }
int main(void) { for (;;) busy(); }
END

# A name of its own: other recorders may run here.
recorder_name=rec$$
ln -s "$CULPRIT" "$recorder_name"

# stall NUMBER CALLER PARENT: what is not answered is close(). Starts a program of user 65501 on such a mount
stall() {
	mkdir "mount$1"
	chown 65501 "mount$1"
	setpriv --reuid=65501 --regid=65534 --clear-groups \
		"$TOOLS/stalling-mount" "$room/device" "$room/mount$1" "$room/spin" "$2" "$3" 25 \
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
	"./$recorder_name" record -q -a -F 500 --duration "$1" -o "$2" 2>messages &
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
stall 1 "$recorder_name" ""
record_for 1s one.prof
expect_between "milliseconds of a second's recording" "$passed_ms" 1000 6000
expect_equal "times that the recorder asked to close a file" "$(cat stalled1)" ""
kill -KILL $mounts
mounts=

# Nor does it cost others their names when who opens his files is held up: what is root's is opened by another
# process, and another user's files are not what is blamed.
mkdir victims
chmod 755 victims
for i in 1 2 3 4; do
	cc -O1 -DROUNDS=10000$i victim.c -o victims/root$i # each an image of its own
	cp victims/root$i victims/other$i
done
chown 65490 victims/other*
stall 2 culprit-open "$recorder_name"
stall 3 culprit-open "$recorder_name"
# Each maps a file that nobody opened before.
run_victims() {
	for i in 1 2 3 4; do
		sleep 0.4
		timeout 2 "$room/victims/root$i" &
		setpriv --reuid=65490 --regid=65534 --clear-groups timeout 2 "$room/victims/other$i" &
	done
	wait
}
run_victims &
programs=$!
record_for 3s others.prof
expect_between "milliseconds of three seconds' recording" "$passed_ms" 3000 8000
wait $programs || true
programs=
cat stalled2 stalled3 | grep -q stalled || fail "nothing was held up: $(cat log2 log3)"
culprit report -q --limit 0 --by image,procedure others.prof >report
for i in 1 2 3 4; do
	expect_match "names of program $i of root's" "$(grep "root$i" report)" "busy"
done
expect_between "files that were not answered for" "$(bill others.prof left_out_names_unanswered)" 1 2
expect_match "what is said of it" "$(cat messages)" "for their file systems did not answer in time: '$room/mount"
! grep "did not answer in time" messages | grep -q victims || fail "others are blamed: $(cat messages)"
