# A day's epochs become one, and every figure stays what it was; parts that come again count once.
. "$SOURCE/tests/lib.sh"
nameless() { hide '\+[0-9a-f]{16}' '+HASH' | hide '[0-9]+ packs? of code of [0-9]+' PACKS; }
"$TOOLS/make-database" db web7 0 30 3600
"$TOOLS/make-database" db web7 30 2 3600 rollout
"$TOOLS/make-database" db web8 0 2 3600
cp -r db/web7 parts
culprit report --json db >before
culprit db compact --dry-run db
culprit db compact db | nameless
culprit db list db | hide '\+[0-9a-f]{16}' '+HASH'
culprit report --json db | cmp before -
culprit db compact db | nameless
cp parts/* db/web7/
culprit report --json db | cmp before -
culprit db list --host web7 db | grep 'in another' | wc -l
culprit db compact --json db | grep -v packs_
culprit report --json db | cmp before -
culprit report --label rollout db | grep recorded
culprit check db | grep -c sound
