# two epochs of one database
mkdir -p db/web7
"$TOOLS/make-profile" watch-before db/web7/20231114T221320Z.prof
"$TOOLS/make-profile" watch-after db/web7/20231114T231320Z.prof
culprit diff --base-epoch 20231114T221320Z --epoch 20231114T231320Z db --limit 2
culprit diff --base-until 2023-11-14T22:30 --since 2023-11-14T23:00 db db --limit 1 | sed -n '/^total/p'
