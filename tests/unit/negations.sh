#!/bin/sh
# Checks that cannot fail, and skips that do not say why.
#
# Under `sh -e` a line `! command` never ends a script, so as a check it cannot fail: each says what
# follows when the command succeeds.
set -eu
root=$1
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT

# Prints the negations below FOLDER that nothing follows; lines that end in a backslash go on.
bare_negations() {
	find "$1" -name '*.sh' -exec awk '
		FNR == 1 { rest = "" }
		{ line = rest $0; rest = "" }
		/\\$/ { rest = substr(line, 1, length(line) - 1); next }
		line ~ /^[ \t]*! / && line !~ /\|\| |&& / { print FILENAME ":" FNR ": " line; found = 1 }
		END { exit found }' {} +
}
bare_negations "$root/tests" || exit 1
bare_negations "$root/bench" || exit 1

echo '! grep -q wrong report' >"$copy/bare.sh"
printf '! grep -q wrong \\\n\treport || exit 1\n' >"$copy/sound.sh"
if bare_negations "$copy" >"$copy/found"; then
	echo "a bare negation is not found"
	exit 1
fi
[ "$(wc -l <"$copy/found")" = 1 ] || { cat "$copy/found"; exit 1; }

# A cmocka test that is skipped gives its reason (support/skip.h).
if grep -rnE '(^|[^A-Za-z_])skip\(\)' "$root/tests/unit"; then
	exit 1
fi
