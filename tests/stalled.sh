# For tests of recordings beside processes that hold locks of theirs for ever, after tests/lib.sh: user
# 65501's file system, and what runs from it. What is made lies in $room, where others may look.
need_root
need_command setpriv cc mknod
need_cpu_sampling
room=$(mktemp -d /tmp/culprit-processes.XXXXXX)
mounts=
recorder=
beside= # recorders that run side by side
programs=
# The recorder first: what it waits for is let go with the mounts.
clean() {
	for process in $recorder $beside $programs $mounts; do
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
# stall NAME CALLER OPERATION [PROCESSES]: runs the program, of user 65501, until so many of its
# processes (1) do not come back; it is $stalled
stall() {
	mkdir "mount-$1"
	chown 65501 "mount-$1"
	: >"stalled-$1"
	setpriv --reuid=65501 --regid=65534 --clear-groups \
		"$TOOLS/stalling-mount" "$room/device" "$room/mount-$1" "$room/$1" "$2" "" "$3" \
		>"stalled-$1" 2>"log-$1" &
	mount_process=$!
	mounts="$mounts $mount_process"
	for i in $(seq 100); do
		[ "$(wc -l <"stalled-$1")" -lt "${4:-1}" ] || break
		kill -0 $mount_process 2>/dev/null || skip "$(cat "log-$1")"
		sleep 0.1
	done
	[ "$(wc -l <"stalled-$1")" -ge "${4:-1}" ] || fail "$1 did not stall: $(cat "log-$1")"
	for stalled in $(cat /proc/$mount_process/task/$mount_process/children); do
		[ "$(cat "/proc/$stalled/comm")" != prog ] || break
	done
}

# begin ARGUMENT...: a recording in the background
begin() {
	begun_ns=$(date +%s%N)
	"$CULPRIT" record -q "$@" 2>messages &
	recorder=$!
}

# await SECONDS WHAT: its end; $status, and $passed_ms since it began
await() {
	for i in $(seq $(($1 * 20))); do
		kill -0 $recorder 2>/dev/null || break
		sleep 0.05
	done
	! kill -0 $recorder 2>/dev/null || fail "$2 hangs: $(cat "/proc/$recorder/wchan")"
	status=0
	wait $recorder || status=$?
	recorder=
	passed_ms=$((($(date +%s%N) - begun_ns) / 1000000))
}

# beside NAME COMMAND...: a recording beside others, since all wait most of their time. What it says goes to
# NAME.said, its status and milliseconds to NAME.ended.
beside() {
	name=$1
	shift
	{
		begun_ns=$(date +%s%N)
		status=0
		timeout -s KILL 40 "$@" 2>"$name.said" || status=$?
		echo "$status $((($(date +%s%N) - begun_ns) / 1000000))" >"$name.ended"
	} &
	beside="$beside $!"
}

# await_beside: the end of all of them
await_beside() {
	# shellcheck disable=SC2086
	wait $beside
	beside=
}

# Three recordings beside each other while nothing stalls, of that many seconds: how long the longest takes here,
# in $unhindered_ms. How much longer one takes afterwards is what the stalled cost it.
measure_unhindered() {
	for name in unhindered1 unhindered2 unhindered3; do
		beside $name "$CULPRIT" record -q -a -F 500 --duration "$1" -o $name.prof
	done
	await_beside
	unhindered_ms=$(cut -d ' ' -f 2 unhindered?.ended | sort -n | tail -n 1)
	echo "a recording of $1 takes $unhindered_ms ms here"
}

# expect_ended NAME WHAT STATUS LEAST_MS MOST_MS: of one of them
expect_ended() {
	read -r status passed_ms <"$1.ended"
	echo "$2: ended after $passed_ms ms"
	expect_equal "status of $2: $(cat "$1.said")" "$status" "$3"
	expect_between "milliseconds of $2" "$passed_ms" "$4" "$5"
}

# A program of root's at work, $victim.
start_victim() {
	cat >victim.c <<'END'
static __attribute__((noinline)) void busy(void) { for (volatile int i = 0; i < 100000; i++) ; }
int main(void) { for (;;) busy(); }
END
	cc -O1 victim.c -o victim
	"$room/victim" &
	programs=$!
	victim=$!
}
