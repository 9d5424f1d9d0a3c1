# A folder of epochs reads as one profile, or as those that are asked for.
mkdir -p db/web7 db/web8
"$TOOLS/make-profile" clock db/web7/20231114T221320Z.prof
"$TOOLS/make-profile" stacks db/web8/20231114T221320Z.prof
for chosen in "" "--host web8" "--epoch 20231114T221320Z --host web7" "--since 2023-11-14T22:13:25" \
	"--until 2023-11-14T22:13:20Z" "--since 2h" "--until soon"; do
	echo "== $chosen"
	(culprit report db $chosen 2>&1 || echo "($?)") | grep -vE '^(host|bill|late|names|collector|machine|recorded|    )'
done
culprit report db/web7/20231114T221320Z.prof --host web7 2>&1 || echo "($?)"
