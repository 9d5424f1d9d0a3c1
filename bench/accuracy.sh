# How near frequencies come to exact counts on simulated machines, for the programs of
# tests/data/exact; or, where CULPRIT_TRUTH names a folder that bench/accuracy/truth.sh has
# filled, for all that these ran. ACCURACY_PROGRAMS (five of different kinds; all: the full form) of them.
. "$SOURCE/tests/lib.sh"
programs=
chosen=${ACCURACY_PROGRAMS:-gzip zstd perl lua stream}
[ "$chosen" != all ] || chosen="gzip bzip2 xz zstd python3 perl sqlite3 lua cc1 stream chase matmul qsort
	as objdump sort awk diff grep sed bc jq xmllint troff git readelf"
for name in $chosen; do
	program=$SOURCE/tests/data/exact/$name.exact
	if [ -n "${CULPRIT_TRUTH:-}" ]; then
		[ -f "$CULPRIT_TRUTH/$name.callgrind" ] || continue
		program=$PWD/$name.exact
		"$TOOLS/make-exact-program" --share 100 "$CULPRIT_TRUTH/$name.callgrind" "$program"
	fi
	[ -f "$program" ] || continue # thirteen are in no file of ours
	programs="$programs $program"
done
# shellcheck disable=SC2086 # a list
"$(dirname "$CULPRIT")/../../bench/bench-accuracy" "$SOURCE/tests/data/simulated" $programs
