# A daemon that stands still, beside ten thousand processes, beside programs that map files with long names as
# fast as they can, and while a CPU goes and comes back: it goes on, and of every overflow it is known whether
# it is stored or lost, and why.
. "$SOURCE/tests/lib.sh"
. "$SOURCE/tests/daemon.sh"
need_root
need_command cc
stand_still=10
[ -z "${LONG_FORM:-}" ] || stand_still=30
cat >many.c <<'END'
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <signal.h>
/* So many processes that wait, which end with this one. Prints how many, and why there are no more of them. */
int main(int argc, char **argv)
{
	int made = 0, wanted = atoi(argv[argc - 1]);
	for (; made < wanted; made++) {
		pid_t pid = fork();
		if (pid < 0)
			break;
		if (pid == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				pause();
		}
	}
	printf("%d%s%s\n", made, made < wanted ? ": " : "", made < wanted ? strerror(errno) : "");
	fflush(stdout);
	for (;;)
		pause();
}
END
cat >names.c <<'END'
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
/* Maps and unmaps a file whose path is as long as the kernel tells it, for so many seconds. Prints how many
   times, and the bytes of their paths. */
int main(int argc, char **argv)
{
	char name[201];
	memset(name, 'n', 200);
	name[200] = 0;
	int depth = 18;
	for (int i = 0; i < depth; i++)
		if ((mkdir(name, 0700) < 0 && i == 0 && access(name, X_OK) < 0) || chdir(name) < 0)
			return 1;
	int fd = open("file", O_RDWR | O_CREAT, 0700);
	if (fd < 0 || ftruncate(fd, 4096) < 0)
		return 1;
	long times = 0;
	time_t end = time(NULL) + atoi(argv[argc - 1]);
	while (time(NULL) < end)
		for (int i = 0; i < 100; i++, times++) {
			void *at = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
			if (at == MAP_FAILED)
				return 1;
			munmap(at, 4096);
		}
	printf("%ld %ld\n", times, times * (depth * 201L + 5));
	return 0;
}
END
cc -O1 many.c -o many
cc -O1 names.c -o names
beside=
cpu=/sys/devices/system/cpu/cpu1/online
clean() {
	restore_settings
	kill -KILL $beside 2>/dev/null || true
	clean_daemon
}
trap clean EXIT
daemon --merge-interval 500ms
"$KERNELS/busy" split 600 >/dev/null &
beside=$!
await_figure samples 100

# Stopped: what came meanwhile is stored or counted as lost, and it does not think that nothing was there.
before=$(figure samples)
kill -STOP "$daemon"
# Who asks it meanwhile waits for it.
ctl status >late 2>&1 &
asking=$!
sleep $stand_still
[ ! -s late ] || fail "a stopped daemon has answered: $(cat late)"
kill -CONT "$daemon"
await_figure samples "$before"
wait $asking || fail "who asked a stopped daemon got: $(cat late)"
expect_match "the answer that it gave later" "$(cat late)" "^daemon     sampling"
after=$(figure samples)
echo "samples: $before before it was stopped, $after after"
await_state sampling

./many 10000 >made &
many=$!
beside="$beside $many"
for i in $(seq 300); do
	[ ! -s made ] || break
	sleep 0.1
done
case $(cat made) in
10000) ;;
*": Resource temporarily unavailable") echo "no 10000 processes may run here: $(cat made)" ;;
*) fail "processes that were made: '$(cat made)', not 10000" ;;
esac
before=$(figure samples)
await_figure samples "$((before + 100))"
ctl flush
# shellcheck disable=SC2046
expect_equal "processes that are still there" \
	"$(printf '/proc/%s/stat\n' $(cat "/proc/$many/task/$many/children") | xargs cat | grep -vc ') Z ')" "$(sed 's/:.*//' made)"
kill -KILL $many

# shellcheck disable=SC2086
for i in 1 2; do
	(mkdir -p room$i && cd room$i && ../names 3 >../named$i) &
	naming="${naming:-} $!"
done
for process in $naming; do
	wait $process || fail "a program that maps files ended with $?"
done
for i in 1 2; do
	expect_between "mappings of program $i" "$(cut -d ' ' -f 1 named$i)" 1000 1000000000
done
echo "mappings: $(cat named1) and $(cat named2) bytes of names in 3 s"
await_figure samples "$(figure samples)"
ctl flush
echo "lost records about mappings: $(ctl status --json | sed -n 's/.*"records":\([0-9]*\).*/\1/p')"

if [ -w $cpu ] && [ "$(cat $cpu)" = 1 ] && guard_setting $cpu && echo 0 >$cpu 2>/dev/null; then
	sleep 1
	await_figure samples "$(figure samples)"
	restore_settings
	sleep 0.5
	await_figure samples "$(figure samples)"
	ctl flush
else
	cpu=
	echo "no CPU can be taken away here"
fi
ctl status
stop
culprit check -q db >/dev/null
culprit db merge -q --limits none all.prof db
stored=$(bill all.prof stored)
lost=$(bill all.prof 'lost_(ring|table|damaged|skipped)')
expect_equal "runs" "$(bill all.prof runs)" "$((stored + lost))"
expect_equal "runs apart" "$(bill all.prof apart_runs)" \
	"$(($(bill all.prof apart_stored) + $(bill all.prof 'apart_(filtered|lost_ring|lost_damaged)')))"
# The time when it stood still is not missing: overflows came all the while.
expect_between "enabled time, s" "$(bill all.prof enabled_ns | awk '{ print $1 / 1e9 }')" $stand_still 100000
expect_between "overflows while it was stopped or not" "$((stored + lost))" $((stand_still * 50)) 1000000000
if [ -n "$cpu" ]; then
	expect_between "time without the CPU, s" "$(bill all.prof offline_ns | awk '{ print $1 / 1e9 }')" 0.5 600
	expect_equal "the CPU" "$(cat $cpu)" 1
fi
cat daemon.said
[ "$(cat made)" = 10000 ] || skip "passed beside fewer processes: $(cat made)"
