# Executions counted exactly: of the program and a library, in threads and forked processes,
# position-independent or not; and what cannot be counted is refused with its reason.
# beside others
. "$SOURCE/tests/lib.sh"
need_recording self
need_command cc

culprit accuracy --probe loop_4 --probe main --probe exit -- "$KERNELS/two_loops" 100 >out 2>err || {
	grep -q "no execution breakpoints here\|permission denied\|cannot trace\|are in use" err && skip "$(cat err)"
	fail "$(cat err)"
}
# executions PLACE: what the last run counted there
executions() {
	awk -v place="$1" '$3 == place { print $1 }' out
}
expect_equal "executions of loop_4" "$(executions loop_4)" 100
expect_equal "executions of main" "$(executions main)" 1
expect_equal "executions of exit in the library" "$(executions exit)" 1
expect_match "the library" "$(cat out)" ' libc[^ ]*\+0x[0-9a-f]+ exit$'

# f runs 7 times in each of 2 threads, in main before and after, and in 2 threads of each of 3 forked
# processes: 70. What runs before main counts too, what a process runs after an exec does not.
cat >counted.c <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) void f(void) { __asm__ volatile("" ::: "memory"); }
__attribute__((noinline)) void before(void) { __asm__ volatile("" ::: "memory"); }
__attribute__((constructor)) static void construct(void)
{
	for (int i = 0; i < 5; i++)
		before();
}
static void *seven(void *unused)
{
	for (int i = 0; i < 7; i++)
		f();
	return unused;
}
static void two_threads(void)
{
	pthread_t threads[2];
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, seven, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}
int main(int argc, char **argv)
{
	if (argc > 1) { /* another program: not counted */
		execl(argv[1], argv[1], NULL);
		return 1;
	}
	two_threads();
	seven(NULL);
	for (int i = 0; i < 3; i++)
		if (fork() == 0) {
			two_threads();
			if (i == 2)
				execl("./counted-pie", "counted-pie", "/bin/true", NULL);
			_exit(0);
		}
	while (wait(NULL) > 0)
		;
	seven(NULL);
	return 9;
}
END
cc -O1 -fPIE -pie -pthread -o counted-pie counted.c 2>cc.err || skip "cannot compile: $(cat cc.err)"
cc -O1 -fno-pie -no-pie -pthread -o counted-fixed counted.c
for kind in pie fixed; do
	expect_status 9 culprit accuracy --probe f --probe before --probe counted-$kind+0x"$(nm counted-$kind |
		sed -n 's/^0*\([0-9a-f]*\) . main$/\1/p')" -- ./counted-$kind >out
	expect_equal "executions of f ($kind)" "$(executions f)" 70
	expect_equal "executions of main ($kind)" "$(executions main)" 1
	expect_equal "executions before main ($kind)" "$(executions before)" 5
done
if cc -O1 -static -pthread -o counted-static counted.c 2>/dev/null; then
	expect_status 9 culprit accuracy --probe f -- ./counted-static >out
	expect_equal "executions of f (static)" "$(executions f)" 70
	expect_status 1 culprit accuracy --probe nowhere -- ./counted-static 2>err
fi

# Signals reach it, and its end by one is told.
cat >signalled.c <<'END'
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
static volatile int got;
__attribute__((noinline)) void handle(int signal) { got += signal == SIGUSR1; }
int main(void)
{
	signal(SIGUSR1, handle);
	for (int i = 0; i < 4; i++)
		kill(getpid(), SIGUSR1);
	printf("%d\n", got);
	fflush(stdout);
	kill(getpid(), SIGTERM);
	pause();
	return 0;
}
END
cc -O1 -o signalled signalled.c
expect_status 143 culprit accuracy --probe handle -- ./signalled >out
expect_equal "signals" "$(head -n 1 out)" 4
expect_equal "executions of the handler" "$(executions handle)" 4

# Once all is mapped it is traced no more.
culprit accuracy --probe exit -- grep TracerPid /proc/self/status >out
expect_equal "tracer of the command" "$(sed -n 's/^TracerPid:[[:space:]]*//p' out)" 0

# A hot place is let go.
started=$(date +%s)
culprit accuracy --probe loop_8+0x4 --limit 20000 -- "$KERNELS/two_loops" 20000000 >out 2>err
expect_between "seconds" $(($(date +%s) - started)) 0 20
expect_match "message" "$(cat err)" "^culprit: warning: 'loop_8\+0x4' was executed more often than --limit allows and was let go after [0-9]+ executions\$"
expect_between "executions of a hot place" "$(executions loop_8+0x4 | tr -d '>')" 20000 2000000
expect_match "sign" "$(executions loop_8+0x4)" '^>'

# refuse MESSAGE ARGUMENTS...
refuse() {
	message=$1
	shift
	expect_status 1 culprit accuracy "$@" >out 2>err
	expect_match "message" "$(cat err)" "^culprit: $message"
	[ ! -s out ] || fail "the command ran: $(cat out)"
}
refuse "cannot count 'nowhere': neither the command's program nor a library that it starts with has it\$" \
	--probe nowhere -- echo ran
refuse "'loop_4\+0x999' lies behind its procedure, which has [0-9]+ bytes\$" --probe loop_4+0x999 -- "$KERNELS/two_loops"
refuse "'\+0x12' is no place in code: " --probe +0x12 -- echo ran
refuse "'loop_4\+0x1' is inside the instruction at 0x[0-9a-f]*, where nothing can be counted\$" \
	--probe loop_4+0x1 -- "$KERNELS/two_loops"
expect_equal "JSON" "$(culprit accuracy --json --probe loop_4 -- "$KERNELS/two_loops" 100 | tr -d ' \n' | sed 's/.*"executions":\([0-9]*\).*/\1/')" 100

# Estimates beside the counts: two blocks of a loop, one executed 3 times in 4. The recording is longer.
case $(uname -m) in
x86_64) rare=6 end=10 ;;
aarch64) rare=8 end=14 ;;
*) exit 0 ;;
esac
culprit record --quiet --edges -u -e cpu-clock -F 1500 -o estimates.prof -- "$KERNELS/branches" 200000000 2>err ||
	skip "no recording here: $(cat err)"
culprit accuracy -i estimates.prof --probe by_counter --probe by_counter+0x$rare --probe by_heap --probe by_counter+0x$end \
	-- "$KERNELS/branches" 8000 >out
expect_equal "executions of the loop" "$(awk '$NF == "by_counter" { print $1 }' out)" 8000
expect_equal "executions of the rare block" "$(awk -v place=by_counter+0x$rare '$NF == place { print $1 }' out)" 6000
expect_between "estimate of the rare block" "$(awk -v place=by_counter+0x$rare '$NF == place { print $2 }' out)" 5200 6800
expect_between "estimates in all" "$(awk '$NF ~ /^by_counter/ { n += $2 } END { print n }' out)" 13999 14003
# once: its error has many digits
expect_equal "executions of the end" "$(awk -v place=by_counter+0x$end '$NF == place { print $1 }' out)" 1
expect_equal "rows without their place below its head" "$(awk '
	NR == 1 { at = index($0, "instruction") }
	NR > 1 && / branches\+0x/ && index($0, "branches+0x") != at' out)" ""
# which nobody calls: any other may have a sample
expect_match "a procedure without samples" "$(cat out)" "^no estimate for by_heap: the profile has no samples of its procedure\$"
culprit accuracy -i estimates.prof --probe by_counter -- "$KERNELS/branches" 80 >out
expect_match "a probe alone" "$(cat out)" "^no estimate for by_counter: executions are known up to a factor of the procedure's: probe two"
expect_status 1 culprit accuracy -i nowhere.prof --probe by_counter -- "$KERNELS/branches" 80 2>err
