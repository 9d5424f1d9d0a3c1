# What the frequencies of a procedure cost, by its size.
"$(dirname "$CULPRIT")/../../bench/bench-flow-least"
