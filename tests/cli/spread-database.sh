# each epoch of a database is a run; loads differ, so shares are compared
mkdir -p db/web7
"$TOOLS/make-profile" watch-before db/web7/20231114T221320Z.prof
"$TOOLS/make-profile" watch-after db/web7/20231114T231320Z.prof
culprit spread --causes 0 db
echo
echo "one of them twice, as rates"
culprit spread --per second --limit 1 --epoch 20231114T221320Z -i db db | sed -n '/^runs/,$p'
for selection in '--epoch 20231114T221320Z' '--epoch nothing' '--since 2024-01-01'; do
	culprit spread $selection db || echo "status $?"
done
