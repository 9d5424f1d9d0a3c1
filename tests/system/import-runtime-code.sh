# A recording of perf with a jitdump beside it: code that was loaded over other code has the samples
# of its time, as far as the recording's clock is the jitdump's.
# beside others
. "$SOURCE/tests/lib.sh"
need_command perf
# A host that takes the CPU away from the first changes the share, but seldom three times.
for attempt in 1 2 3; do
	rm -rf jit-*.dump perf.data timed.prof
	perf record -q -k CLOCK_MONOTONIC -e cpu-clock -F 1000 -o perf.data -- "$KERNELS/jitted" dumptwice 0.6 >perf.log 2>&1 ||
		skip "perf cannot record here: $(tail -n 1 perf.log)"
	culprit import -o timed.prof perf.data 2>said
	first=$(samples timed.prof 3 jit 10 jit_first)
	second=$(samples timed.prof 3 jit 10 jit_second)
	[ $((10 * second)) -gt $((first + second)) ] || break
done
expect_between "samples" $((first + second)) 300 1200
! grep -q "jitdump files" said || fail "a note about: $(cat said)"
expect_between "share of jit_second" "$(ratio "$second" $((first + second)))" 0.015 0.1
culprit annotate -i timed.prof jit_second >code || fail "no code of jit_second"
expect_match "code" "$(cat code)" "(dec|sub)"

# Another clock: nothing says which of them a sample belongs to; the last counts.
rm jit-*.dump
perf record -q -e cpu-clock -F 1000 -o perf.data -- "$KERNELS/jitted" dumptwice 0.2 >perf.log 2>&1
culprit import -o untimed.prof perf.data 2>said
expect_match "note" "$(cat said)" "1 jitdump files tell of code that was loaded over other code"
expect_equal "samples of jit_first" "$(samples untimed.prof 3 jit 10 jit_first)" 0
expect_between "samples of jit_second" "$(samples untimed.prof 3 jit 10 jit_second)" 100 500

# A map beside the recording is the folder's owner's or everybody's to read, and nothing leads elsewhere.
mkdir beside
chmod 755 . .. beside 2>/dev/null || true
perf record -q -e cpu-clock -F 1000 -o beside/perf.data -- "$KERNELS/jitted" silent 0.1 >perf.log 2>&1
culprit import -o none.prof beside/perf.data 2>said
pid=$("$TOOLS/cells" none.prof | awk -F '\t' '$3 == "jit" { split($4, word, " "); print word[2]; exit }')
[ -n "$pid" ] || fail "no run-time code in $("$TOOLS/cells" none.prof | cut -f 1-4)"
echo "1000 7fffffffe000 stolen_outside" >outside
ln -s ../outside beside/perf-$pid.map
culprit import -o linked.prof beside/perf.data 2>said
expect_equal "samples that a link out of the folder names" "$(samples linked.prof 10 stolen_outside)" 0
rm beside/perf-$pid.map
cp outside beside/perf-$pid.map
culprit import -o own.prof beside/perf.data 2>said
expect_between "samples that the folder's own map names" "$(samples own.prof 10 stolen_outside)" 20 300
