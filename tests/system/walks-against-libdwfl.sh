# Stacks of programs that nobody here wrote, stopped at moments by chance: by unwind rules they are those that
# libdwfl finds, frame by frame.
# beside others
. "$SOURCE/tests/lib.sh"
need_command cc
seq 300 | awk '{ printf "int f%d(int *p, int n) { int s = 0; for (int i = 0; i < n; i++) { s += p[i] * %d; switch (s %% 9) { case 1: s ^= p[i + 3]; break; case 2: s ^= p[i + 5]; break; case 7: s += p[i * 2]; break; } } for (int k = 0; k < n; k++) { p[k] += s >> 3; s -= p[n - k]; } return s; }\n", $1, $1 }' >compiled.c
seq 400000 | sed 's/$/ some text that packs/' >text
compared=0
# compare COUNT COMMAND...
compare() {
	status=0
	timeout 60 "$TOOLS/compare-walks" "$@" >found 2>/dev/null || status=$?
	[ $status != 77 ] || skip "$(cat found)"
	expect_equal "status of $2: $(cat found)" "$status" 0
	last=$(tail -n 1 found)
	echo "$2: $last"
	# "N stacks: N equal, N shorter, N longer, N other; N whole; ..."
	read -r all _ equal _ _ _ longer _ other _ whole _ <<END
$(echo "$last" | tr -d ',;:')
END
	compared=$((compared + all))
	expect_equal "stacks of $2 that differ: $(cat found)" "$other" 0
	expect_between "stacks of $2 that end early: $(cat found)" $((all - equal - longer)) 0 $((all / 100 + 1))
	expect_between "stacks of $2 that are not whole: $(cat found)" $((all - whole)) 0 $((all / 100 + 1))
}
compare 400 cc -O2 -w -c compiled.c -o compiled.o
cat >clock.c <<'END'
#include <sys/time.h>
int main(void) { struct timeval now; for (int i = 0; i < 20000000; i++) gettimeofday(&now, 0); }
END
cc -O1 clock.c -o clock
compare 100 ./clock
# compare_if_here COUNT COMMAND...
compare_if_here() {
	! command -v "$2" >/dev/null || compare "$@"
}
cat >work.py <<'END'
import json
for i in range(3000):
    json.loads(json.dumps(list(range(900))))
END
cat >work.pl <<'END'
my %seen;
$seen{$_ % 999} .= $_ for 1 .. 900000;
END
compare_if_here 150 xz -T1 -kf text
compare_if_here 150 python3 work.py
compare_if_here 150 perl work.pl
compare_if_here 150 sqlite3 :memory: "with recursive c(x) as (select 1 union all select x + 1 from c where x < 1500000) select sum(x * x) from c"
expect_between "stacks that were compared" "$compared" 200 100000
