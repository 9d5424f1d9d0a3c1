# Old epochs go, by age or by size, and the last three of each host stay; what is not ours stays, too.
"$TOOLS/make-database" db web7 0 6 3600
"$TOOLS/make-database" db web8 0 2 3600
cp db/web7/20231114T221320Z.prof db/web7/baseline.prof
echo "== dry"
culprit db prune --older-than 1d --dry-run db
echo "== as JSON"
culprit db prune --older-than 1d --dry-run --json db
echo "== size"
culprit db prune --max-size 100K db
culprit db list db
echo "== age"
culprit db prune --older-than 1d --grace 0s db
culprit db list db
echo "== what has to stay is larger"
culprit db prune --max-size 1K db 2>&1 || echo "($?)"
for mistake in "prune" "prune db db" "prune nowhere" "prune db --host web7" "prune db --max-size 0" "prune db --max-size much" \
	"list db --older-than 1d" "copy db other --dry-run" "merge out db --json" "compact db --grace 1h" "prune db --older-than yesterday"; do
	# shellcheck disable=SC2086
	culprit db $mistake 2>&1 || echo "($?)"
done
