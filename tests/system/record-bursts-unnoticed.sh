# Programs do not notice that they are stepped in bursts, and whoever steps lets go.
# beside others
. "$SOURCE/tests/lib.sh"
need_cpu_sampling
need_command cc

culprit record --quiet --bursts=30 -F 1500 -o b.prof -- "$KERNELS/branches" 1000000 2>err || fail "$(cat err)"
grep -q 'may not be traced' err && skip "$(cat err)"

# A running process, and it goes on.
"$KERNELS/busy" threads 3 6 &
pid=$!
trap 'kill $pid 2>/dev/null || true' EXIT
while [ "$(ls /proc/$pid/task | wc -l)" != 4 ]; do sleep 0.01; done
culprit record --quiet --bursts=20 --per-thread -p $pid --duration 4s -o p.prof
expect_between "bursts of a process" "$(bill p.prof bursts)" 8 1000
expect_equal "tracer afterwards" "$(sed -n 's/^TracerPid:[[:space:]]*//p' /proc/$pid/status)" 0
expect_status 0 wait $pid
expect_match "function" "$("$TOOLS/cells" p.prof | awk -F '\t' '$1 == "edge" && $3 == 4')" 'busy_(one|two)'

# What makes threads and processes, executes, gets signals and ends while it is stepped does as it would.
cat >unmoved.c <<'END'
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static volatile long alarms, traps;
static void on_alarm(int signal) { alarms += signal == SIGALRM; }
static void on_trap(int signal) { traps += signal == SIGTRAP; }
static double cpu_seconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}
static void *work(void *seconds)
{
	double end = cpu_seconds() + *(double *)seconds;
	unsigned long flags;
	do {
		for (volatile int i = 0; i < 20000; i++) {
#ifdef __x86_64__
			__asm__ volatile("pushf; pop %0; push %0; popf" : "=r"(flags)::"memory", "cc");
			if (flags & 0x100)
				abort(); /* it saw that it was stepped */
#else
			(void)flags;
			__atomic_fetch_add(&traps, 0, __ATOMIC_SEQ_CST);
#endif
		}
	} while (cpu_seconds() < end);
	return seconds;
}
int main(int argc, char **argv)
{
	double little = 0.02, much = 0.3;
	if (argc > 1) { /* executed */
		work(&little);
		return atoi(argv[1]);
	}
	struct itimerval often = { { 0, 1000 }, { 0, 1000 } };
	signal(SIGALRM, on_alarm);
	signal(SIGTRAP, on_trap);
	setitimer(ITIMER_REAL, &often, NULL);
	int sum = 0;
	for (int i = 0; i < 20; i++) {
		if (fork() == 0) {
			char text[8];
			work(&little);
			snprintf(text, sizeof(text), "%d", i);
			execl("/proc/self/exe", "again", text, NULL);
			_exit(99);
		}
		int status;
		while (wait(&status) < 0)
			;
		sum += WIFEXITED(status) ? WEXITSTATUS(status) : 1000;
	}
	pthread_t threads[3];
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, work, &much);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	printf("%d %s %ld\n", sum, alarms > 100 ? "alarms" : "no alarms", traps);
	return 5;
}
END
cc -O1 -pthread -o unmoved unmoved.c 2>cc.err || skip "cannot compile: $(cat cc.err)"
expect_status 5 culprit record --quiet --bursts=50 -F 2000 -o u.prof -- ./unmoved >out
expect_equal "what it printed" "$(cat out)" "190 alarms 0"
expect_between "bursts" "$(bill u.prof bursts)" 5 2000

# Its stops are stops, and when the recording ends before it, it goes on.
culprit record --quiet --bursts=50 -F 2000 --duration 1s -o d.prof -- \
	sh -c 'echo $$ >pid; mv pid ready; exec "$KERNELS/busy" split 60' &
recorder=$!
for wait in $(seq 500); do [ ! -e ready ] || break; sleep 0.02; done
command=$(cat ready)
trap 'kill $command 2>/dev/null || true' EXIT
for stop in 1 2 3 4; do
	kill -STOP "$command"
	for wait in $(seq 50); do
		sleep 0.1
		! grep -q '^State:.*[Tt] (' "/proc/$command/status" || break
	done
	expect_match "state of a stopped program" "$(grep ^State: "/proc/$command/status")" '[Tt] \('
	kill -CONT "$command"
	sleep 0.05
done
expect_status 0 wait $recorder
expect_match "state" "$(grep ^State: "/proc/$command/status")" '[RS] \('
expect_equal "tracer afterwards" "$(sed -n 's/^TracerPid:[[:space:]]*//p' "/proc/$command/status")" 0
kill "$command"

# The recorder is killed, and the program lives: whoever steps lets go.
for attempt in 1 2 3; do
	rm -f ready
	culprit record --quiet --bursts=50 -F 2000 -o k.prof -- sh -c 'echo $$ >pid; mv pid ready; exec "$KERNELS/busy" split 60' &
	recorder=$!
	for wait in $(seq 500); do [ ! -e ready ] || break; sleep 0.02; done
	command=$(cat ready)
	trap 'kill $command 2>/dev/null || true' EXIT
	sleep 0.3$attempt
	kill -9 $recorder
	wait $recorder 2>/dev/null || true
	sleep 0.1
	kill -0 "$command" || fail "the program died with the recorder"
	kill "$command"
done

# One that is traced already is sampled, and left alone.
if command -v strace >/dev/null; then
	strace -o /dev/null "$KERNELS/busy" split 3 &
	tracer=$!
	sleep 0.3
	traced=$(cat /proc/$tracer/task/$tracer/children 2>/dev/null || true)
	if [ -n "$traced" ]; then
		culprit record --bursts -p ${traced%% *} --duration 300ms -o t.prof 2>err
		expect_match "message" "$(cat err)" "^culprit: warning: no bursts: what was to be stepped cannot be: another program traces it\$"
		expect_between "samples" "$(samples t.prof)" 1 100000
	fi
	expect_status 0 wait $tracer
fi
expect_status 7 culprit record --quiet --bursts -o s.prof -- sh -c 'exit 7'
expect_status 143 culprit record --quiet --bursts -o s.prof -- sh -c 'kill $$; sleep 9'
expect_status 127 culprit record --quiet --bursts -o s.prof -- ./nowhere 2>err
