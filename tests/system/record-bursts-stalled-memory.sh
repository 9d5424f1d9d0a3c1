# A program whose memory nobody can read, for one of its threads holds the lock of it for ever (it maps over
# what its file system does not take back), is stepped by --bursts while another thread of it runs: that goes
# on afterwards, nothing of the recorder stays behind, and a recording of a command that started such
# a program ends with the command.
. "$SOURCE/tests/lib.sh"
. "$SOURCE/tests/stalled.sh"
cat >maps_over.c <<'END'
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
static void *map_over(void *nothing)
{
	char *page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, open("fuse/prog", O_RDWR), 0);
	page[100]++;
	mmap(page, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	return nothing;
}
int main(void)
{
	pthread_t thread;
	pthread_create(&thread, 0, map_over, 0);
	for (volatile unsigned long i = 0;; i++) ;
}
END
cc -O1 -static -pthread maps_over.c -o maps_over
steppers() {
	grep -l culprit-step /proc/[0-9]*/comm 2>/dev/null | sort || true
}
# those of others that step beside us may end meanwhile
new_steppers() {
	steppers | grep -vxFf before || true
}
steppers >before
stall maps_over "" 16
begin -F 500 --duration 1s --bursts=50 -p "$stalled" -o stepped.prof
await 20 "a recording of it"
expect_equal "its status: $(cat messages)" "$status" 0
expect_between "bursts that could not be read" "$(bill stepped.prof burst_end_slow)" 1 100000
for i in $(seq 50); do
	[ -n "$(new_steppers)" ] || break
	sleep 0.1
done
expect_equal "what steps still" "$(new_steppers)" ""
expect_match "what it does afterwards" "$(sed -n 's/^State:[[:space:]]*//p' "/proc/$stalled/task/$stalled/status")" "^R"

# The command starts it and ends; who steps is its parent, and has to tell that.
cat >starts.sh <<END
setpriv --reuid=65501 --regid=65534 --clear-groups "$TOOLS/stalling-mount" "$room/device" "$room/mount-second" \
	"$room/maps_over" "" "" 16 >stalled-second 2>&1 &
echo \$! >second
for i in \$(seq 100); do [ ! -s stalled-second ] || break; sleep 0.1; done
sleep 1.5
END
mkdir mount-second
chown 65501 mount-second
beside command "$CULPRIT" record -q -F 500 --bursts=50 -o command.prof -- sh starts.sh
mounts="$mounts $(for i in $(seq 50); do [ ! -s second ] || break; sleep 0.1; done; cat second)"

# Who steps is kept from everything, also from telling that the command has ended.
begin -F 500 --bursts=50 -o stopped.prof -- sh -c 'until [ -e stands-still ]; do sleep 0.1; done'
for i in $(seq 100); do
	stepper=$(grep -l culprit-step /proc/[0-9]*/comm 2>/dev/null | cut -d/ -f3 |
		while read -r one; do ! grep -q "^PPid:[[:space:]]*$recorder\$" "/proc/$one/status" || echo "$one"; done)
	[ -z "$stepper" ] || break
	sleep 0.01
done
programs="$programs $stepper"
# While nothing is stepped: what is would stand still with it, and the command would not end.
for i in $(seq 100); do
	kill -STOP "$stepper"
	until grep -q "^State:[[:space:]]*T" "/proc/$stepper/status"; do sleep 0.001; done
	grep -qs "^TracerPid:[[:space:]]*$stepper\$" /proc/[0-9]*/status || break
	kill -CONT "$stepper"
	sleep 0.01
done
touch stands-still
await 20 "a recording whose stepper stands still"
kill -KILL "$stepper"
expect_equal "its status, which nobody knows: $(cat messages)" "$status" 125

await_beside
expect_ended command "a recording of a command" 0 1500 30000
