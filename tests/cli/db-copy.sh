# Two hosts' databases are copied into one, again and again.
. "$SOURCE/tests/lib.sh"
sized() { hide 'code of [0-9]+ bytes' 'code of N bytes'; }
"$TOOLS/make-database" one web7 0 3 3600
"$TOOLS/make-database" two web8 0 3 3600 canary
culprit db copy one all | sized
culprit db copy --label canary --since 2023-11-14T23:30 two all | sized
culprit db list all
culprit db copy two all | sized
culprit db copy one all | sized
culprit db merge wanted.prof one two
culprit db merge copied.prof all
cmp wanted.prof copied.prof
echo "== another epoch of the same name"
"$TOOLS/make-database" three web7 0 1 60
culprit db copy three all 2>&1 || echo "($?)"
culprit db copy --json one all
culprit db copy nowhere all 2>&1 || echo "($?)"
mkdir -p cut/web7
"$TOOLS/make-profile" clock cut/web7/20231114T221320Z cut-off
echo "== cut off"
culprit db copy cut all 2>&1 || echo "($?)"
culprit check all | tail -n 1
