# Frames by the share of their slots that retired: one scale in all graphs, hatched where readings
# are few; and the share of those that waited in the backend.
"$TOOLS/make-profile" topdown p
hovers() { sed -n 's/.*class="\([^"]*\)" data-i.*<title>\(.*\)<.title>.*/\1 \2/p' "$1"; }
culprit flame --color retiring p >retiring.svg
sed -n '/id="legend"/,/<\/g>/p' retiring.svg
hovers retiring.svg
culprit flame --color backend p >backend.svg
hovers backend.svg
# the same share has the same colour when a part of the graph is drawn
culprit flame --color retiring --focus lex p >lex.svg
hovers lex.svg | grep lex
# slots are not all that it takes
culprit flame --color retiring -e slots p >slots.svg
hovers slots.svg | grep -c .
"$TOOLS/make-profile" group without
culprit flame --color retiring without || echo "exit $?"
