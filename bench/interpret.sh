# Interpreted samples against single steps, over programs of several kinds: paths that
# diverge (at most 1 in 1000 may), how many have an outcome, and what a path costs; each without
# and with what registers point to. INTERPRET_PATHS (2000; the full form 5000) of each.
. "$SOURCE/tests/lib.sh"
program="$(dirname "$CULPRIT")/../../bench/bench-interpret"
head -c 30000000 /dev/urandom | base64 >input
cat >work.py <<'END'
words = {}
for i in range(10 ** 9):
    key = str(i * 7919 % 10007)
    words[key] = words.get(key, 0) + len(key) % 3
END
bad=0
measure() {
	name=$1
	shift
	command -v "$1" >/dev/null || return 0
	for memory in "" -m; do
		echo "$name${memory:+, with memory at registers}"
		status=0
		"$program" -n "${INTERPRET_PATHS:-2000}" $memory -- "$@" || status=$?
		[ $status != 77 ] || skip "programs cannot be traced here"
		[ $status = 0 ] || bad=1
	done
}
measure gzip gzip -9 -c input
measure xz xz -6 -T1 -c input
measure bzip2 bzip2 -9 -c input
measure perl perl -e 'my %h; for (my $i = 0; $i < 1e9; $i++) { $h{$i * 7919 % 10007} .= "x" if $i % 3; $h{$i % 77} = "" }'
measure python3 python3 work.py
exit $bad
