# A program of an ordinary user samples its own segment (culprit/sampler.h): its user code, which is said,
# into a file that nobody else reads.
# beside others
. "$SOURCE/tests/lib.sh"
need_root
need_command setpriv
user='setpriv --reuid 65534 --regid 65534 --clear-groups'
mkdir -m 777 place
cp "$TOOLS/sampled" "$TOOLS/sampled-library.so" place
chmod 755 place/sampled
$user test -w place || skip "another user cannot come to this folder"
if ! $user place/sampled cycles place/data place/sampled-library.so 2>said; then
	! grep -q 'permission denied' said || skip "ordinary users may not sample here: $(cat said)"
	fail "it cannot be sampled: $(cat said)"
fi
read -r taken event lost <said
expect_between "samples" "$taken" 20 100000
expect_match "what is sampled" "$event" ':u$'
expect_equal "rights of the file" "$(stat -c '%a %u' place/data)" "600 65534"
culprit export --samples place/data >ours
for name in work_in_program work_deeper work_in_thread; do
	grep -q ";$name " ours || fail "no samples of $name: $(cat ours)"
done

# into a place that is not the user's
expect_status 1 $user place/sampled cycles /proc/1/data place/sampled-library.so 2>said
expect_match "the refusal" "$(cat said)" "cannot write '/proc/1/data': "
