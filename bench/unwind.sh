# What the stack of a sample costs by each way to have it: by frame pointers, as a copy, walked in the kernel
# by unwind rules. Printed, not judged: other work on the machine shows. BENCH_ROUNDS (3; the full form 11) of it.
. "$SOURCE/tests/lib.sh"
status=0
"$(dirname "$CULPRIT")/../../bench/bench-unwind" "${BENCH_ROUNDS:-3}" >out || status=$?
cat out
[ $status != 77 ] || skip "$(tail -n 1 out)"
[ $status = 0 ]
