# Stacks of programs without frame pointers: whole by unwind rules, walked in the kernel and from copies, as
# root and as an ordinary user; broken by frame pointers, which is the control.
# beside others
. "$SOURCE/tests/lib.sh"
need_command cc jq
need_cpu_sampling
cat >chain.c <<'END'
#include <stdlib.h>
#include <time.h>
static volatile unsigned long sink;
static int compare(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;
	return (x > y) - (x < y);
}
__attribute__((noinline)) void sort_all(int *list, int count) { qsort(list, count, sizeof(*list), compare); sink += list[0]; }
__attribute__((noinline)) void inner(int depth, int *list, int count)
{
	if (depth) {
		inner(depth - 1, list, count);
	} else {
		for (int i = 0; i < count; i++)
			list[i] = rand();
		sort_all(list, count);
	}
	sink++;
}
__attribute__((noinline)) void outer(int *list, int count) { inner(6, list, count); sink++; }
int main(int argc, char **argv) /* [SECONDS], 1 without */
{
	int *list = malloc(4000 * sizeof(*list));
	while (clock() < (argc > 1 ? atoi(argv[1]) : 1) * CLOCKS_PER_SEC) /* rarely: where it costs a trap it is a part of main's time */
		for (int i = 0; i < 50; i++)
			outer(list, 4000);
}
END
cc -O2 -fomit-frame-pointer -o chain chain.c
seq 200 | awk '{ printf "int f%d(int *p, int n) { int s = 0; for (int i = 0; i < n; i++) { s += p[i] * %d; switch (s %% 9) { case 1: s ^= p[i + 3]; break; case 2: s ^= p[i + 5]; break; case 7: s += p[i * 2]; break; } } for (int k = 0; k < n; k++) { p[k] += s >> 3; s -= p[n - k]; } return s; }\n", $1, $1 }' >compiled.c

# broken PROFILE: percent of its stacks that do not reach a start
broken() {
	culprit report --json "$1" | jq .stacks.broken_percent
}
# total PROFILE PROCEDURE
total() {
	culprit report --inclusive --min 0 --limit 0 --no-inline "$1" | awk -v name="$2" '$NF == name { print $2; exit }'
}
# check WHAT PROFILE: each caller of the chain is above nearly everything
check() {
	expect_between "percent of broken stacks, $1" "$(broken "$2")" 0 1
	# but for what starts and ends the program
	expect_between "percent below main, $1" "$(total "$2" main)" 97 100
	for caller in outer inner; do
		expect_between "percent below $caller, $1" "$(total "$2" $caller)" 97 100
	done
	expect_between "percent below sort_all, $1" "$(total "$2" sort_all)" 50 100
	culprit report --tree --min 1 --limit 0 --no-inline "$2" >tree
	expect_equal "inner in a row, $1" "$(awk '$NF == "inner" { n++; if (n > most) most = n; next } { n = 0 } END { print most }' tree)" 7
}
culprit record -q -F 500 -g -o walked.prof -- ./chain
check "as is usual" walked.prof
# percent of its stacks that were walked in copies, not by the kernel
copied() { # PROFILE
	echo $((100 * $(bill "$1" stacks_copied) / ($(bill "$1" stored) + 1)))
}
# Where the kernel walks, it does for user code alone, too; beside --edges it cannot, which is said.
if [ "$(copied walked.prof)" -le 50 ]; then
	culprit record -q -F 500 -g --user -o user-code.prof -- ./chain
	check "of user code" user-code.prof
	expect_between "percent of copied stacks of user code" "$(copied user-code.prof)" 0 20
	culprit record -F 500 -g --edges -o edges.prof -- ./chain 2>said || fail "--edges: $(cat said)"
	if [ "$(copied edges.prof)" -gt 50 ]; then
		expect_match "what -g --edges says" "$(cat said)" "they bring copies of the stack"
	fi
	check "beside --edges" edges.prof
fi
# What runs beside is not asked for: its stacks are not copied for want of rules, again and again.
if [ "$(id -u)" = 0 ]; then
	cp chain stranger
	./stranger &
	./stranger &
	culprit record -q -F 500 -g -o beside.prof -- ./chain
	wait
	check "beside others" beside.prof
	if [ "$(bill beside.prof filtered)" -gt 50 ]; then
		samples=$(($(bill beside.prof stored) + $(bill beside.prof filtered)))
		expect_between "bytes of a sample" $(($(bill beside.prof ring_bytes) / samples)) 1 3000
	fi
fi
culprit record -q -F 500 --call-graph eh,8192 -o copied.prof -- ./chain
check "from copies" copied.prof
expect_between "percent of copied stacks from copies" "$(copied copied.prof)" 95 100
if [ "$(id -u)" = 0 ] && [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 2 ] && command -v setpriv >/dev/null; then
	user=$(mktemp -d /tmp/culprit-stacks.XXXXXX)
	trap 'rm -rf "$user"' EXIT
	cp chain "$CULPRIT" "$user"
	chown -R 65501 "$user"
	(cd "$user" && setpriv --reuid=65501 --regid=65534 --clear-groups ./culprit record -q -F 500 -g -o user.prof -- ./chain 2>said) ||
		fail "an ordinary user cannot record stacks: $(cat "$user/said")"
	check "of an ordinary user" "$user/user.prof"
fi

# A compiler, which nobody here wrote.
culprit record -q -F 500 -g -o compiler.prof -- cc -O2 -w -c compiled.c -o compiled.o
expect_between "percent of a compiler's broken stacks" "$(broken compiler.prof)" 0 3
culprit record -q -F 500 --call-graph fp -o pointers.prof -- cc -O2 -w -c compiled.c -o compiled.o
expect_between "percent of them by frame pointers" "$(broken pointers.prof)" 20 100
# Nothing is called as it was guessed where a copy is too short: it says so.
culprit record -q -F 500 --call-graph eh,64 -o short.prof -- ./chain
culprit report --tree --min 1 --limit 0 short.prof >short
grep -q '\[unknown: callers beyond the copied stack\]' short || fail "a short copy does not show: $(cat short)"
