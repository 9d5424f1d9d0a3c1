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
echo "== what is damaged goes before any epoch, past the grace, whatever it is; what is not ours stays"
# put PATH...: a folder as a killed writer leaves it, of 8 KiB
put() {
	for path; do
		mkdir "$path"
		seq 1000 | head -c 4000 >"$path/profile"
		seq 1000 | head -c 10 >"$path/profile-wal"
	done
}
put db/web7/20231114T221320Z.damaged db/web7/20231114T221320Z-2.damaged db/web8/20231115T221320Z-1-2.damaged db/web8/mine.damaged
echo text >db/web8/20231115T221320Z.damaged
mkdir db/target
ln -s ../target db/web8/20231116T221320Z.damaged
culprit db prune --max-size 1K db 2>&1 || echo "($?)"
culprit db prune --older-than 1ms --grace 0s --dry-run db | grep damaged
echo "and one that somebody put something into"
echo text >db/web8/20231115T221320Z-1-2.damaged/more
culprit db prune --max-size 80K --grace 0s --json db 2>&1 | grep -v "packs\|pack_bytes" || echo "($?)"
ls db/web7 db/web8
rm -r db/web8/*.damaged db/target
echo "== what has to stay is larger"
culprit db prune --max-size 1K db 2>&1 || echo "($?)"
for mistake in "prune" "prune db db" "prune nowhere" "prune db --host web7" "prune db --max-size 0" "prune db --max-size much" \
	"list db --older-than 1d" "copy db other --dry-run" "merge out db --json" "compact db --grace 1h" "prune db --older-than yesterday"; do
	# shellcheck disable=SC2086
	culprit db $mistake 2>&1 || echo "($?)"
done
