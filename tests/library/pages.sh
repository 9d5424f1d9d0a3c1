#!/bin/sh
# pages.sh SOURCE - each function of libculprit is in the NAME and the SYNOPSIS of one page of section 3, no
# page names a function that is not there, and what pages refer to exists.
set -eu
source=$1
failed=0
complain() {
	echo "$*"
	failed=1
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for page in "$source"/docs/man/*.3.scd; do
	awk -v page="$(basename "$page")" \
		'/^# NAME/ { getline; getline; sub(/ - .*/, ""); gsub(/,/, ""); n = split($0, names, " ")
			for (i = 1; i <= n; i++) print names[i], page }' "$page"
done >"$work/named"
sort "$source"/tests/library/*.symbols >"$work/functions"
while read -r name; do
	pages=$(awk -v name="$name" '$1 == name { print $2 }' "$work/named")
	[ "$(echo "$pages" | wc -w)" = 1 ] || { complain "$name is in the NAME of these pages, not of one: $pages"; continue; }
	grep -q "[ *]$name(.*[,;]\$" "$source/docs/man/$pages" || complain "$pages: SYNOPSIS lacks $name()"
done <"$work/functions"
while read -r name page; do
	[ "$name.3.scd" = "$page" ] || grep -qx "$name" "$work/functions" || complain "$page: there is no function $name()"
done <"$work/named"
# *name*(3) of ours
grep -ohE '\*(lib)?culprit[a-z_]*\*\(3\)' "$source"/docs/man/*.scd | tr -d '*' | sed 's/(3)//' | sort -u |
	while read -r name; do
		cut -d' ' -f1 "$work/named" | grep -qx "$name" || [ -e "$source/docs/man/$name.3.scd" ] || echo "pages refer to $name(3), which is not there"
	done >"$work/lost"
[ ! -s "$work/lost" ] || complain "$(cat "$work/lost")"
exit $failed
