# What executions of blocks cost by maximum likelihood, by the size of procedures.
"$(dirname "$CULPRIT")/../../bench/bench-flow-likelihood"
