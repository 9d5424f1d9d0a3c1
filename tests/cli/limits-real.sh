# Recordings of tests/data are read within the usual limits; nothing is left out for them.
. "$SOURCE/tests/lib.sh"
for file in "$SOURCE"/tests/data/callgrind/* "$SOURCE"/tests/data/folded/* "$SOURCE"/tests/data/perf-script/* \
	"$SOURCE"/tests/data/perfdata/* "$SOURCE"/tests/data/pmcstat/* "$SOURCE"/tests/data/pprof/* \
	"$SOURCE"/tests/data/speedscope/*; do
	culprit import -q --limits none -o free.prof "$file" 2>/dev/null || continue
	culprit import -q -o new.prof "$file" 2>said || fail "$file: $(cat said)"
	cmp free.prof new.prof
	echo "$(basename "$file")"
done
