# The unit tests and the fuzz targets' seeds, on arm64; all but the simulations,
# which test arithmetic and take minutes of emulated floating point.
# boots: plain
failed=0
for program in "$UNIT"/test_*; do
	[ "${program##*/}" != test_weight ] || continue
	"$program" >log 2>&1 || { cat log; echo "$(basename "$program") failed"; failed=1; }
done
for program in "$UNIT"/replay_*; do
	"$program" "$UNIT/seeds/$(basename "$program" | sed 's/^replay_//')" >log 2>&1 ||
		{ cat log; echo "$(basename "$program") failed"; failed=1; }
done
exit $failed
