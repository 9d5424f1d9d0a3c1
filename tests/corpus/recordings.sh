. "$SOURCE/tests/lib.sh"
# The tables of docs/recordings.md say what culprit reads in the outside recordings.
# beside others
corpus="$SOURCE/../shared/corpus"
[ -d "$corpus/perfdata" ] || skip "no folder with outside recordings"
need_command python3
python3 "$SOURCE/tests/corpus/recordings-table" "$CULPRIT" "$corpus" >now
sed '1,/^## The recordings$/d' "$SOURCE/docs/recordings.md" >written
diff written now || fail "docs/recordings.md says otherwise; tests/corpus/recordings-table prints the tables"
echo "$(grep -c '^| [^-]' now) lines"
