# What a sample costs by each way to collect it, without its interrupt, beside perf's ring in the
# same run. Printed, not judged: other work on the machine shows. BENCH_ROUNDS (5; the full form 21) of it.
. "$SOURCE/tests/lib.sh"
status=0
"$(dirname "$CULPRIT")/../../bench/bench-collect" "${BENCH_ROUNDS:-5}" >out || status=$?
cat out
[ $status != 77 ] || skip "$(tail -n 1 out)"
[ $status = 0 ]
