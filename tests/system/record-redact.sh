# A redacted profile names no file, no function and no command line, and still tells them apart.
# beside others
. "$SOURCE/tests/lib.sh"
need_cpu_sampling
cp "$KERNELS/busy" secret-program
culprit record --quiet -F 1000 --redact -o redacted.prof -- ./secret-program split 0.2
"$TOOLS/cells" redacted.prof >cells
expect_between "functions of the program" "$(awk -F '\t' '$1 == "cell" && $3 == "file" && $10 ~ /^f_[0-9a-f]+$/ { print $10 }' cells | sort -u | wc -l)" 2 50
! grep -Eq "busy_(one|two)" cells || fail "a function is named"
# Of the stash only extents: group 0 or 1 of the pool, nothing of code and what it refers to.
kept() {
	python3 -c 'import sqlite3, sys
print(sqlite3.connect(sys.argv[1]).execute(
    "select count(*) from chunk where relation = 0 and event > 1").fetchone()[0])' "$1"
}
expect_equal "contents beyond extents" "$(kept redacted.prof)" 0
culprit record --quiet -F 1000 -o whole.prof -- ./secret-program split 0.2
expect_between "contents beyond extents, not redacted" "$(kept whole.prof)" 1 100
culprit report redacted.prof >report
! grep -Eq 'secret-program split|/secret' report || fail "a file or the command line is named"
began=$(date +%s)
culprit record --quiet --epoch 1s -F 500 -o epochs -- "$KERNELS/busy" split 2.5
expect_between "epochs" "$(find epochs -name '*.prof' | wc -l)" 2 $(($(date +%s) - began + 2))
[ -z "$(find epochs -name '*.open')" ] || fail "an epoch was left open"
culprit report epochs >report
expect_match "report of all epochs" "$(cat report)" "busy_two"
