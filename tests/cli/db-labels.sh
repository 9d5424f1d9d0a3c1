# Epochs are chosen by their labels, and listed with them; a profile file has none to choose by.
"$TOOLS/make-database" db web7 0 2 60 build=before
"$TOOLS/make-database" db web7 2 1 60 build=after
"$TOOLS/make-database" db web8 0 1 60
culprit db list db
culprit db list --label build=after --json db
for chosen in "--label build=before" "--label build=before --label build=after" \
	"--label build=before --since 2023-11-14T22:14:30" "--label build" "--host web8 --label build=after"; do
	echo "== $chosen"
	# shellcheck disable=SC2086
	(culprit report db $chosen 2>&1 || echo "($?)") | grep -E '^(recorded|event|culprit|\()'
done
culprit db merge one.prof db --label build=after
culprit report --label build=after one.prof 2>&1 || echo "($?)"
culprit diff --base-label build=before --label build=after db | grep -E '^(base|other|before|after) ' || echo "diff: $?"
culprit record --label '' -- true 2>&1 || echo "($?)"
culprit record --label "$(printf 'a\nb')" -- true 2>&1 || echo "($?)"
