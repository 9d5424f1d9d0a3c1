# A view that never ends passes SQLite's integrity_check; it must be refused at once.
command -v sqlite3 >/dev/null || { echo "no sqlite3 here"; exit 77; }
cp "$SOURCE/tests/data/profile-v1.prof" forged.prof
chmod u+w forged.prof
sqlite3 forged.prof 'DROP TABLE chunk; CREATE VIEW chunk AS WITH RECURSIVE
n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS relation FROM n'
timeout 10 culprit check forged.prof
