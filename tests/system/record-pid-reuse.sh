# Numbers of processes that come again within a second: whoever has one has his own name, image and functions.
# beside others
. "$SOURCE/tests/lib.sh"
need_root
need_command unshare cc
need_cpu_sampling
kernel=$(uname -r | awk -F '[.-]' '{ print $1 * 1000 + $2 }')
[ "$kernel" -ge 6014 ] || skip "before Linux 6.14 kernel.pid_max is one for all pid namespaces"
unshare --pid --fork --mount --mount-proc sh -c 'echo 400 >/proc/sys/kernel/pid_max' 2>/dev/null ||
	skip "no pid namespaces with numbers of their own here"
turns=20000 # a file is known by its code, which differs so
for name in early later; do
	turns=$((turns + 1))
	cat >$name.c <<-END
	#include <time.h>
	__attribute__((noinline)) void ${name}_work(void) { for (volatile int i = 0; i < $turns; i++) ; }
	int main(void)
	{
		struct timespec begin, now;
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
		do {
			${name}_work();
			clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
		} while (now.tv_nsec - begin.tv_nsec < 2000000);
		return 0;
	}
	END
	cc -O1 -static -o $name $name.c
done
# 301 is the least that there may be, and the first 300 are not given twice: a hundred numbers for all.
cat >inside <<'END'
echo 400 >/proc/sys/kernel/pid_max
[ "$(cat /proc/sys/kernel/pid_max)" = 400 ]
cat >many <<'MANY'
for i in $(seq 300); do ./early; ./later; done
sed 's/ .*//' /proc/self/stat >number
MANY
culprit record --quiet $1 -F 4000 -o reused.prof -- sh many
END
for identity in "" --per-process; do
	unshare --pid --fork --mount --mount-proc sh -eu inside "$identity"
	"$TOOLS/cells" reused.prof >cells
	for name in early later; do
		expect_between "samples of $name $identity" "$(samples reused.prof 11 $name 10 ${name}_work)" 500 20000
	done
	expect_equal "functions of another program" \
		"$(awk -F '\t' '$1 == "cell" && $10 ~ /^(early|later)_work$/ && $10 != $11 "_work"' cells)" ""
	# The shell's copy of itself has a number from its fork on.
	expect_equal "other images of those programs" "$(culprit report -q --limit 0 --by process,image reused.prof |
		grep -E ' (early|later) ' | grep -vE ' (early +early|later +later)$' | grep -vE '\[(kernel|vdso)\]|unknown')" ""
	expect_between "last number" "$(cat number)" 2 400
	all=$(samples reused.prof)
	expect_between "share without an image $identity" "$(ratio "$(bill reused.prof 'unknown_.*')" "$all")" 0 0.002
done
# 600 processes had them.
expect_between "numbers" "$(awk -F '\t' '$1 == "cell" && $10 ~ /^(early|later)_work$/ { print $12 }' cells | sort -u | wc -l)" 20 400
