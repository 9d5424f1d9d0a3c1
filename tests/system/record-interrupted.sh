# Signals are heard while names are gathered: the first one cuts that short, the second ends at once and leaves
# the open file, which has the samples.
. "$SOURCE/tests/lib.sh"
need_root
need_command python3 objcopy cc
need_cpu_sampling

# One's own file has no limit below 20 s.
"$SOURCE/tests/tools/hostile" make nested bomb 16 2>make.err || skip "cannot make it: $(cat make.err)"
./bomb 9 &
load=$!
trap 'kill $load 2>/dev/null || true' EXIT
seconds_since() {
	awk -v from="$1" -v to="$(date +%s.%N)" 'BEGIN { print to - from }'
}
# Waits until the parser works for it: gathering goes on then.
begin() {
	culprit record -q -p $load -F 500 --no-edges --duration 300ms -o "$1" 2>said &
	recorder=$!
	waited=0
	until grep -q gather_or_parse state 2>/dev/null; do
		kill -0 $recorder 2>/dev/null || fail "it had ended before: $(cat said)"
		for task in $(cat "/proc/$recorder/task/$recorder/children" 2>/dev/null); do
			# A second of CPU time is more than it takes for anything else, here or on a slower machine.
			[ "$(cat "/proc/$task/comm" 2>/dev/null)" != culprit-parse ] ||
				awk '$14 + $15 >= 100 { print "gather_or_parse" }' "/proc/$task/stat" >>state 2>/dev/null || true
		done
		waited=$((waited + 1))
		[ $waited -lt 2000 ] || fail "nothing was gathered"
	done
	rm -f state
}

begin once.prof
from=$(date +%s.%N)
kill -INT $recorder
expect_status 0 wait $recorder
expect_between "seconds to end after SIGINT" "$(seconds_since "$from")" 0 2
expect_match "what was said" "$(cat said)" "left out, for we were asked to end: .*bomb"
expect_match "bill" "$("$TOOLS/cells" once.prof | grep left_out)" "left_out_lines_asked"
[ "$(samples once.prof 10 hostile_work)" -gt 0 ] || fail "names that were there are missing"
[ ! -e once.prof.open ] || fail "the open file is left"

begin twice.prof
from=$(date +%s.%N)
kill -TERM $recorder
kill -INT $recorder
expect_status 1 wait $recorder
expect_between "seconds to end after two signals" "$(seconds_since "$from")" 0 2
[ -e twice.prof.open ] || fail "no open file is left"
[ ! -e twice.prof ] || fail "it was closed"
expect_match "report" "$(culprit report twice.prof 2>&1)" "cut off"
[ "$("$TOOLS/cells" twice.prof 2>/dev/null | grep -c '^cell')" -gt 0 ] || [ "$(culprit report --json twice.prof 2>/dev/null | grep -c total_samples)" -gt 0 ] || fail "the samples are lost"

# Reports read such files, too: they end at once, and so does who reads for them.
culprit record -q -p $load -F 500 --no-edges --no-stash --duration 200ms -o bare.prof 2>said || fail "$(cat said)"
culprit annotate bare.prof hostile_work >report.out 2>&1 &
reporter=$!
waited=0
until grep -q busy state 2>/dev/null; do
	kill -0 $reporter 2>/dev/null || fail "the report had ended before: $(cat report.out)"
	for task in $(cat "/proc/$reporter/task/$reporter/children" 2>/dev/null); do
		awk -v task="$task" '$14 + $15 >= 10 { print "busy", task }' "/proc/$task/stat" >>state 2>/dev/null || true
	done
	waited=$((waited + 1))
	[ $waited -lt 2000 ] || fail "nothing was read"
done
from=$(date +%s.%N)
kill -TERM $reporter # the shell has the background ignore SIGINT
expect_status 143 wait $reporter
expect_between "seconds to end after SIGTERM" "$(seconds_since "$from")" 0 2
reading=$(awk '/busy/ { print $2; exit }' state)
waited=0
while [ -d "/proc/$reading" ] && ! grep -q '^State:.*[ZX]' "/proc/$reading/status" 2>/dev/null; do
	waited=$((waited + 1))
	[ $waited -lt 500 ] || fail "process $reading reads on for nobody"
done
