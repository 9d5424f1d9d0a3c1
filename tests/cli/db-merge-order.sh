# The order of the inputs does not matter, and merging twice counts twice.
printf 'a;b 1\na;c 2\n' | culprit import -q -o 1.prof /dev/stdin
printf 'a;c 3\nd 4\n' | culprit import -q -o 2.prof /dev/stdin
culprit db merge 12.prof 1.prof 2.prof
culprit db merge 21.prof 2.prof 1.prof
cmp 12.prof 21.prof
culprit db merge again.prof 12.prof
cmp 12.prof again.prof
mkdir -p db/web7 db/web8
cp 1.prof db/web7/20260101T000000Z.prof
cp 2.prof db/web8/20260101T000000Z.prof
culprit db merge all.prof db
cmp 12.prof all.prof
culprit db merge --host web7 one.prof db
cmp 1.prof one.prof
culprit db list db
culprit db list --samples db
culprit db list --json --host web8 db
culprit db list --json --samples --host web8 db
culprit check db
