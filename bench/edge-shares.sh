# Points that a branch's share is off where paths start by time, on simulated loops: from the start
# of each path, and as it is counted.
. "$SOURCE/tests/lib.sh"
"$(dirname "$CULPRIT")/../../bench/bench-edge-shares"
