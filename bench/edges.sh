# Samples that are interpreted: what one costs more, and what recordings of several programs at the
# usual budget spend on it and get. Printed, not judged: other work on the machine shows. BENCH_ROUNDS (3;
# the full form 11) of the first.
. "$SOURCE/tests/lib.sh"
need_cpu_sampling
status=0
"$(dirname "$CULPRIT")/../../bench/bench-edges" "${BENCH_ROUNDS:-3}" || status=$?
[ $status != 77 ] || skip "the cost of a sample cannot be measured here"
[ $status = 0 ]
head -c 30000000 /dev/urandom | base64 >input
cat >work.py <<'END'
words = {}
for i in range(4 * 10 ** 6):
    key = str(i * 7919 % 10007)
    words[key] = words.get(key, 0) + len(key) % 3
END
measure() {
	name=$1
	shift
	command -v "$1" >/dev/null || return 0
	culprit record --quiet --edges -e cpu-clock -o edges.prof -- "$@" >/dev/null
	culprit report --json edges.prof | jq -r --arg name "$name" '.events[0] as $event | .collector as $own |
		$event.bill.interpreted as $b |
		"\($name): \($b.samples) paths, \($b.thinned_samples) left out, " +
		"\(100 - 100 * $b.silent_samples / ($b.samples + 0.001) | round) % with an outcome, " +
		"\($b.branches) branches; \($own.interpret_ns / ($b.samples + 0.001) / 10 | round / 100) us a path, " +
		"\($own.interpret_ns / 1e4 | round / 100) ms of \($own.cpu_ns / 1e4 | round / 100) ms that collecting took"'
}
measure "one loop" "$KERNELS/branches" 1000000000
measure gzip gzip -9 -c input
measure xz xz -1 -T1 -c input
measure bzip2 bzip2 -9 -c input
measure perl perl -e 'my %h; for (my $i = 0; $i < 3e6; $i++) { $h{$i * 7919 % 10007} .= "x" if $i % 3 }'
measure python3 python3 work.py
