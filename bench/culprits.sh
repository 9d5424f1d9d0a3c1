# How near the culprits of stalls come to what simulated machines waited for, for the programs
# of tests/data/exact.
programs=
for name in gzip bzip2 xz zstd qsort lua sqlite3 perl python3; do
	programs="$programs $SOURCE/tests/data/exact/$name.exact"
done
# shellcheck disable=SC2086 # a list
"$(dirname "$CULPRIT")/../../bench/bench-culprits" "$SOURCE/tests/data/simulated" $programs
