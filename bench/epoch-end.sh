# What the end of an epoch keeps the recorder from, and how long rings wait meanwhile.
"$(dirname "$CULPRIT")/../../bench/bench-epoch-end"
