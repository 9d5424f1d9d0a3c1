# Which events count here is found by asking the kernel, not by a table.
# boots: exact
. "$LIB"
culprit events >list
for event in cycles instructions; do
	grep -Eq "^\+ $event( |\$)" list || fail "$event counts, and is not said to"
done
for event in branches ref-cycles cache-misses; do
	grep -Eq "^- $event( |\$)" list || fail "$event does not count, and is said to"
done
