# What the profile file costs: bytes per row, time to write, read and merge.
"$(dirname "$CULPRIT")/../../bench/bench-store"
