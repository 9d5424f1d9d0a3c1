# Forty processes of another user that stay in execve() for ever, by a file system of his that does not
# answer. Recordings end as they should, whoever records, and whether he trusts them: for all of them
# together one time is waited, not for each.
. "$SOURCE/tests/lib.sh"
. "$SOURCE/tests/stalled.sh"
start_victim
many=40
cat >many.c <<END
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>
int main(void)
{
	for (int i = 0; i < $many; i++)
		if (fork() == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			open("fuse/prog", O_RDONLY | O_CLOEXEC);
			execl("/bin/sleep", "sleep", "1000", (char *)0);
			return 1;
		}
	for (;;)
		pause();
}
END
cc -O1 -static many.c -o many
measure_unhindered 300ms

stall many prog 25 $many
parent=$stalled

mkdir -m 777 own
beside all "$CULPRIT" record -q -a -F 500 --duration 1s -o all.prof
beside unlimited "$CULPRIT" record -q -a -F 500 --duration 300ms --gather-limits none -o unlimited.prof
beside children "$CULPRIT" record -q -F 500 --duration 300ms -p "$parent" --children -o children.prof
[ "$(cat /proc/sys/kernel/perf_event_paranoid)" -gt 2 ] ||
	beside own setpriv --reuid=65501 --regid=65534 --clear-groups \
		"$CULPRIT" record -q -F 500 --duration 300ms -p "$parent" -o own/own.prof
await_beside

expect_ended all "a recording of all" 0 300 $((unhindered_ms + 4000))
culprit report -q --limit 0 --by image,procedure all.prof >report
expect_match "names of another program's" "$(grep victim report)" "busy"
expect_between "processes that did not answer" "$(bill all.prof left_out_names_unanswered)" 1 4

# Nobody pays, so each of them would be waited for half a second: 20 in all.
expect_ended unlimited "a recording without limits" 0 300 $((unhindered_ms + 8000))
expect_match "what is said of them, without limits" "$(cat unlimited.said)" "in time: '/proc/[0-9]*/stat', '/proc/"
culprit report -q --limit 0 --by image,procedure unlimited.prof >report
expect_match "names of another program's, without limits" "$(grep victim report)" "busy"

# The one that waits first uses up what all may take, while root's recorder is urgent for as long.
expect_ended children "a recording with children" 0 300 $((unhindered_ms + 8000))
expect_match "what is said of them" "$(cat children.said)" \
	"process [0-9]* below is not watched: the kernel waits for the end of an execve\(\) of its, which does not come; $((many - 1)) more like it"

# Whose they are himself: he trusts them.
[ ! -e own.ended ] || expect_ended own "a recording of one's own" 0 300 $((unhindered_ms + 8000))
