# What executions of blocks cost by samples and branches, by the size of procedures.
"$(dirname "$CULPRIT")/../../bench/bench-flow-posterior"
