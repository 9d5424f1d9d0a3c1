# What the frequencies of whole procedures cost: procedures per second.
"$(dirname "$CULPRIT")/../../bench/bench-frequency"
