# Samples that the kernel counts and samples that come one by one make the same profile of the same
# seconds: the same procedures and commands, as often but for chance.
. "$SOURCE/tests/lib.sh"
need_recording system
need_command cc jq
need_kernel_counts

# Loops, a compiler that starts again and again, and programs that last some milliseconds.
cat >source.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>
int main(int argc, char **argv) { printf("%s %f\n", argv[0], sin(argc)); return strcmp(argv[0], "x") && abs(argc); }
END
(while :; do "$KERNELS/two_loops" 100000000; "$KERNELS/branches" 30000000; done) >/dev/null &
loops=$!
(while :; do cc -O1 -c -o source.o source.c; done) &
compiler=$!
trap 'kill $loops $compiler 2>/dev/null || true' EXIT
sleep 0.3
# long beside what they differ in, which is when each begins and what it does at its end
culprit record -q -a --engine bpf -e cpu-clock -F 2500 --duration 8s -o bpf.prof &
bpf=$!
await_sampling $bpf
culprit record -q -a --engine ring -e cpu-clock -F 2500 --duration 8s -o ring.prof
wait $bpf
kill $loops $compiler

# rows PROFILE: samples, time and its error squared of each procedure in our commands, which run all the
# time; of the kernel none, where an interrupt that had to wait comes behind the other recorder's
rows() {
	culprit report --json --limit 0 --by process,image,procedure "$1" |
		jq -r '.rows[] | select(.process | IN("two_loops", "branches", "cc1", "as", "cc")) |
			select(.image != "[kernel]") | [.self[0].samples, .self[0].estimate, .self[0].standard_error * .self[0].standard_error,
			.process, .image, .procedure] | @tsv' |
		sort -t "$(printf '\t')" -k4
}
rows bpf.prof >bpf.rows
rows ring.prof >ring.rows
# what has 100 samples in one of them: as many standard errors apart as chance explains
awk -F '\t' '
	{ key = $4 "\t" $5 "\t" $6 }
	NR == FNR { samples[key] = $1; time[key] = $2; error[key] = $3; all += $2; next }
	{ here += $2; seen[key] = 1; row[key] = $0; s[key] = $1; t[key] = $2; e[key] = $3 }
	END {
		for (key in time) if (!(key in seen)) { s[key] = t[key] = e[key] = 0; seen[key] = 1 }
		for (key in seen) {
			if (s[key] < 100 && samples[key] < 100) continue
			scale = all / here
			z = (t[key] * scale - time[key]) / sqrt(e[key] * scale * scale + error[key])
			printf "%6.2f %6d %6d  %s\n", z, samples[key], s[key], key
			n++; square += z * z
			if (z > 4.5 || z < -4.5) { print "apart: " key; bad = 1 }
		}
		printf "%d rows, chi square a row %.2f, time %.4f\n", n, square / n, all / here
		if (n < 4 || square / n > 2.5 || all / here < 0.9 || all / here > 1.1) bad = 1
		exit bad
	}' bpf.rows ring.rows >compared || fail "$(cat compared)"
cat compared

# bill PROFILE ITEM: of the event, all CPUs
bill() {
	culprit report --json "$1" | jq ".events[0].bill.$2"
}
expect_between "unknown, in 10000 samples" "$(($(bill bpf.prof unknown_samples) * 10000 / $(bill bpf.prof stored_samples)))" 0 5
expect_equal "lost" "$(bill bpf.prof lost_samples)" 0
expect_between "counts out of the table" "$(culprit report --json bpf.prof | jq .collector.table_entries)" 100 "$(bill bpf.prof stored_samples)"
expect_equal "counts out of no table" "$(culprit report --json ring.prof | jq .collector.table_entries)" null

# A command alone: what is not of it is left out, and its time is whole.
culprit record -q --engine bpf -e cpu-clock -F 2500 -o command.prof -- sh -c '"$1/two_loops" 200000000; "$1/two_loops" 100000000' \
	sh "$KERNELS" >/dev/null
culprit report --json command.prof >command.json
expect_equal "commands" "$(culprit report --json --by process command.prof | jq -r '[.rows[].process | select(. != "sh" and . != "culprit")] | join(" ")')" two_loops
loop_8=$(jq '[.rows[] | select(.procedure == "loop_8")][0].self[0].estimate' command.json)
loop_4=$(jq '[.rows[] | select(.procedure == "loop_4")][0].self[0].estimate' command.json)
expect_between "loop_8, twice the turns, in percent of loop_4" "$(awk "BEGIN { print 100 * $loop_8 / $loop_4 }")" 120 300

# What it cannot do is refused, and why.
refuse() {
	message=$1
	shift
	expect_status 1 culprit record -q --engine bpf "$@" -o refused.prof -- true 2>err
	expect_match "message" "$(cat err)" "$message"
	[ ! -e refused.prof ] || fail "a profile was written"
}
refuse 'samples cannot be counted in the kernel: groups are read with samples that come through rings' -e '{cpu-clock,page-faults}'
refuse 'samples cannot be counted in the kernel: bursts need the samples one by one' -e cpu-clock --bursts
expect_status 2 culprit record --engine rings -- true 2>err
expect_match "message" "$(cat err)" "engine is 'ring' or 'bpf', not 'rings'"
