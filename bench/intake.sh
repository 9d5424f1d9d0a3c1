# What it costs to add up sums that come from an engine: by places, not by how many entries of
# them come.
bench="$(dirname "$CULPRIT")/../../bench/bench-intake"
for entries in 1000000 10000000; do
	"$bench" "$entries" 100000
done
"$bench" 10000000 1000000
