# Executions by samples alone beside those that branch stacks count: the recordings of
# the corpus that have both stacks and their binary.
. "$SOURCE/tests/lib.sh"
folder=$SOURCE/../shared/corpus/perfdata/with-binary/propeller_sample_1
[ -d "$folder" ] || skip "no corpus of recordings"
culprit import --symfs "$folder" -o stacks.prof "$folder/propeller_sample_1.perfdata1" 2>import.err ||
	fail "import: $(cat import.err)"
"$(dirname "$CULPRIT")/../../bench/bench-branch-stacks" stacks.prof "$folder"
