# Processes of another user that hold locks of theirs for ever, by a file system of his that does not
# answer: one in execve() (a descriptor is closed there), one that unmaps memory (it is written
# back). Whoever reads `stat` or `maps` of them waits as long. Recordings beside them start and end
# as they should, with others' names; of their own they end with a sentence.
. "$SOURCE/tests/lib.sh"
need_root
need_command setpriv cc mknod
need_cpu_sampling
room=$(mktemp -d /tmp/culprit-processes.XXXXXX) # where others may look
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
cat >victim.c <<'END'
static __attribute__((noinline)) void busy(void) { for (volatile int i = 0; i < 100000; i++) ; }
int main(void) { for (;;) busy(); }
END
cc -O1 victim.c -o victim
cat >execs.c <<'END'
#define _GNU_SOURCE
#include <fcntl.h>
#include <unistd.h>
int main(void)
{
	open("fuse/prog", O_RDONLY | O_CLOEXEC);
	execl("/bin/sleep", "sleep", "1000", (char *)0);
	return 1;
}
END
cat >unmaps.c <<'END'
#include <fcntl.h>
#include <sys/mman.h>
int main(void)
{
	char *page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, open("fuse/prog", O_RDWR), 0);
	page[100]++;
	munmap(page, 4096);
	return 1;
}
END
cc -O1 -static execs.c -o execs
cc -O1 -static unmaps.c -o unmaps

# stall NAME CALLER OPERATION: runs the program, of user 65501, until it does not come back; it is $stalled
stall() {
	mkdir "mount-$1"
	chown 65501 "mount-$1"
	setpriv --reuid=65501 --regid=65534 --clear-groups \
		"$TOOLS/stalling-mount" "$room/device" "$room/mount-$1" "$room/$1" "$2" "" "$3" \
		>"stalled-$1" 2>"log-$1" &
	mount_process=$!
	mounts="$mounts $mount_process"
	for i in $(seq 100); do
		[ ! -s "stalled-$1" ] || break
		kill -0 $mount_process 2>/dev/null || skip "$(cat "log-$1")"
		sleep 0.1
	done
	[ -s "stalled-$1" ] || fail "$1 did not stall: $(cat "log-$1")"
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

stall execs prog 25
execs=$stalled
stall unmaps "" 16
"$room/victim" &
programs=$!
victim=$!

begin -a -F 500 --duration 1s -o all.prof
await 10 "a recording of all"
expect_equal "its status: $(cat messages)" "$status" 0
expect_between "milliseconds of a second's recording" "$passed_ms" 1000 4000
culprit report -q --limit 0 --by image,procedure all.prof >report
expect_match "names of another program's" "$(grep victim report)" "busy"
expect_between "processes that did not answer" "$(bill all.prof left_out_names_unanswered)" 1 4
expect_match "what is said of them" "$(cat messages)" "'/proc/[0-9]*/(stat|maps)' of user 65501"

begin -F 500 --duration 1s -p $victim -o one.prof
await 10 "a recording of one"
expect_equal "its status: $(cat messages)" "$status" 0
expect_between "milliseconds of it" "$passed_ms" 1000 4000
expect_between "CPU time that is known of it" "$(bill one.prof sampled_user_ns)" 50000000 2000000000

begin -F 500 -p $victim -o signalled.prof
sleep 1.5
begun_ns=$(date +%s%N)
kill -INT $recorder
await 10 "a recording that is asked to end"
expect_equal "its status: $(cat messages)" "$status" 0
expect_between "milliseconds after SIGINT" "$passed_ms" 0 5000
expect_between "CPU time that is known of it, too" "$(bill signalled.prof sampled_user_ns)" 50000000 3000000000

begin -F 500 -p "$execs" -o stalled.prof
await 10 "a recording of who is in execve()"
expect_equal "its status" "$status" 1
expect_match "what is said" "$(cat messages)" "cannot watch task $execs: the kernel waits for the end of an execve\(\)"

begin -F 500 -p "$execs" -o stalled.prof
sleep 0.7
begun_ns=$(date +%s%N)
kill -INT $recorder
await 10 "such a recording that is asked to end"
echo "ended $passed_ms ms after SIGINT while it opened: $(cat messages)"
# it ends because it is asked to, not at the deadline of two seconds; the time is a busy machine's affair
expect_between "milliseconds after SIGINT while it opens" "$passed_ms" 0 5000
! grep -q "cannot watch task" messages || fail "it waited for the deadline: $(cat messages)"
