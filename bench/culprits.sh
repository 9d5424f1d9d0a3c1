# How near the culprits of stalls come to what simulated machines waited for, for the programs
# of tests/data/exact. CULPRITS_PROGRAMS (three of different kinds; all: the full form) of them.
chosen=${CULPRITS_PROGRAMS:-zstd lua qsort}
[ "$chosen" != all ] || chosen="gzip bzip2 xz zstd qsort lua sqlite3 perl python3"
programs=
for name in $chosen; do
	programs="$programs $SOURCE/tests/data/exact/$name.exact"
done
# shellcheck disable=SC2086 # a list
"$(dirname "$CULPRIT")/../../bench/bench-culprits" "$SOURCE/tests/data/simulated" $programs
