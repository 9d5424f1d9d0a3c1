# Recordings killed at random moments: what was merged is there every time,
# the report says that it was cut off, and the next recording keeps it as .old.
. "$SOURCE/tests/lib.sh"
need_command python3 jq
rounds=${KILL_ROUNDS:-25}

"$KERNELS/two_loops" 2000000000000 &
load=$!
trap 'kill $load 2>/dev/null || true' EXIT
culprit record -q -o probe.prof --duration 100ms -p $load 2>probe.err || skip "cannot record here: $(cat probe.err)"

samples_of() { # 0 also before there is a file
	found=$(culprit report -q --json "$1" 2>report.err | jq '[.events[].total_samples] | add // 0')
	[ -n "$found" ] || grep -q 'No such file' report.err || fail "report: $(cat report.err)"
	echo "${found:-0}"
}
round=0
recovered=0
while [ $round -lt "$rounds" ]; do
	round=$((round + 1))
	rm -rf killed.prof*
	culprit record -q -o killed.prof --merge-interval 50ms -F 2000 -p $load 2>record.err &
	recorder=$!
	python3 -c "import random, time; random.seed($round); time.sleep(0.1 + random.random() * 0.5)"
	# How much was merged at one moment before the kill: not less may be left after it.
	merged=$(samples_of killed.prof)
	kill -9 $recorder
	wait $recorder 2>/dev/null || true
	if [ ! -e killed.prof.open ]; then
		[ "$merged" = 0 ] || fail "round $round: the open file is gone"
		continue
	fi
	expect_status 0 culprit check -q killed.prof >check.out 2>&1 || fail "round $round: $(cat check.out)"
	left=$(samples_of killed.prof)
	[ "$left" -ge "$merged" ] || fail "round $round: $merged samples were merged, $left are left"
	culprit report killed.prof 2>&1 | grep -q 'cut off' || fail "round $round: the report does not say that it was cut off"
	recovered=$((recovered + 1))
	# What holds nothing is not kept.
	if [ $((round % 5)) = 0 ] && [ "$left" -gt 0 ]; then
		culprit record -q -o killed.prof --duration 100ms -p $load
		[ ! -e killed.prof.open ] || fail "round $round: an open file is left"
		again=$(samples_of killed.prof.old)
		expect_equal "round $round: samples in .old" "$again" "$left"
		expect_status 0 culprit check -q killed.prof killed.prof.old
	fi
done
echo "$recovered of $rounds killed recordings had something merged, all of it was there"
