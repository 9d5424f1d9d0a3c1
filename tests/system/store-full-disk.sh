# A full disk and a read-only folder: one sentence, nothing left behind, the old file whole.
# beside others
. "$SOURCE/tests/lib.sh"
need_root
mkdir small
mount -t tmpfs -o size=64k tmpfs small 2>/dev/null || skip "cannot mount a tmpfs here"
trap 'umount small' EXIT
cp "$SOURCE/tests/data/profile-v1.prof" in.prof
culprit db merge small/out.prof in.prof
cp small/out.prof before.prof
dd if=/dev/zero of=small/filler bs=4k 2>/dev/null || true
expect_status 1 culprit db merge small/out.prof in.prof 2>said
expect_match "the message" "$(cat said)" "^culprit: cannot write 'small/out.prof': No space left on device$"
cmp small/out.prof before.prof
expect_equal "what is in the folder" "$(ls small | tr '\n' ' ')" "filler out.prof "
rm small/filler
culprit db merge small/out.prof in.prof
mount -o remount,ro small
expect_status 1 culprit db merge small/out.prof in.prof 2>said
expect_match "the message" "$(cat said)" "Read-only file system$"
culprit check small/out.prof
