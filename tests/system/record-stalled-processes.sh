# Processes of another user that hold locks of theirs for ever, by a file system of his that does not
# answer: one in execve() (a descriptor is closed there), one that unmaps memory (it is written
# back). Whoever reads `stat` or `maps` of them waits as long. Recordings beside them start and end
# as they should, with others' names; of their own they end with a sentence.
. "$SOURCE/tests/lib.sh"
. "$SOURCE/tests/stalled.sh"
start_victim
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

measure_unhindered 1s
most_ms=$((unhindered_ms + 2500))

stall execs prog 25
execs=$stalled
stall unmaps "" 16
beside all "$CULPRIT" record -q -a -F 500 --duration 1s -o all.prof
beside one "$CULPRIT" record -q -F 500 --duration 1s -p $victim -o one.prof
beside stalled "$CULPRIT" record -q -F 500 -p "$execs" -o stalled.prof
begin -F 500 -p $victim -o signalled.prof
await_sampling "$recorder"
victim_ticks() { cut -d ' ' -f 14 "/proc/$victim/stat"; }
enough=$(($(victim_ticks) + 40))
while kill -0 "$recorder" 2>/dev/null && [ "$(victim_ticks)" -lt $enough ]; do sleep 0.05; done
begun_ns=$(date +%s%N)
kill -INT $recorder
await 10 "a recording that is asked to end"
expect_equal "its status: $(cat messages)" "$status" 0
expect_between "milliseconds after SIGINT" "$passed_ms" 0 5000
expect_between "CPU time that is known of it" "$(bill signalled.prof sampled_user_ns)" 50000000 3000000000
await_beside

expect_ended all "a recording of all" 0 1000 $most_ms
culprit report -q --limit 0 --by image,procedure all.prof >report
expect_match "names of another program's" "$(grep victim report)" "busy"
expect_between "processes that did not answer" "$(bill all.prof left_out_names_unanswered)" 1 4
expect_match "what is said of them" "$(cat all.said)" "'/proc/[0-9]*/(stat|maps)' of user 65501"

expect_ended one "a recording of one" 0 1000 $most_ms
expect_between "CPU time that is known of it, too" "$(bill one.prof sampled_user_ns)" 50000000 2000000000

expect_ended stalled "a recording of who is in execve()" 1 0 10000
expect_match "what is said" "$(cat stalled.said)" "cannot watch task $execs: the kernel waits for the end of an execve\(\)"

begin -F 500 -p "$execs" -o stalled.prof
sleep 0.7
begun_ns=$(date +%s%N)
kill -INT $recorder
await 10 "such a recording that is asked to end"
echo "ended $passed_ms ms after SIGINT while it opened: $(cat messages)"
# it ends because it is asked to, not at the deadline of two seconds; the time is a busy machine's affair
expect_between "milliseconds after SIGINT while it opens" "$passed_ms" 0 5000
! grep -q "cannot watch task" messages || fail "it waited for the deadline: $(cat messages)"
