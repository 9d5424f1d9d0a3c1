# What blocks and edges cost to close, order and class: blocks per second.
"$(dirname "$CULPRIT")/../../bench/bench-flow"
