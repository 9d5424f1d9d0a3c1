# What executions of blocks cost by samples and branches, by the size of procedures; the least of
# BENCH_ROUNDS (2; the full form 5).
"$(dirname "$CULPRIT")/../../bench/bench-flow-posterior" "${BENCH_ROUNDS:-2}"
