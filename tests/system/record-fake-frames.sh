# Who may read a large file of root's can have samples in every function of it, by stacks that he made
# up: what is gathered for that is paid for by him, and what root's own programs ask for is not.
. "$SOURCE/tests/lib.sh"
need_root
need_command setpriv objcopy
need_cpu_sampling

chmod 755 . .. ../.. 2>/dev/null || true
mkdir -m 755 public
stranger() {
	setpriv --reuid 65534 --regid 65534 --clear-groups "$@"
}
cp "$TOOLS/fake-frames" public/
# Builds that nobody else runs: what is of one build is one image. Without rules of call frames, so that frame
# pointers are followed whatever is asked for.
ruleless() {
	objcopy -g -R .eh_frame -R .eh_frame_hdr "$1" "$2"
}
ruleless "$TOOLS/make-costly-file" public/asked_by_him
ruleless "$TOOLS/make-extreme-profile" public/asked_by_us
chmod 755 public/*
stranger public/fake-frames 0 public/asked_by_him 2>/dev/null || skip "another user cannot run programs here"

setpriv --reuid 65534 --regid 65534 --clear-groups public/fake-frames 60 public/asked_by_him &
him=$!
public/fake-frames 60 public/asked_by_us &
us=$!
trap 'kill $him $us 2>/dev/null || true' EXIT
for stacks in -g "--call-graph fp"; do
	culprit record -q -a $stacks -F 500 --gather-limits 20ms -o all.prof -- sleep 2 2>said ||
		fail "record: $(cat said)"
	"$TOOLS/cells" all.prof >cells
	grep left_out cells >bill || true
	expect_match "bill" "$(cat bill)" "left_out_file_.*/public/asked_by_him"
	! grep asked_by_us bill || fail "left out of what our own program asks for: $(cat bill)"
	expect_match "what was said" "$(cat said)" "left out, for .*; --gather-limits"

	# With time enough he has all of it, too.
	culprit record -q -a $stacks -F 500 --gather-limits none -o whole.prof -- sleep 1 2>said ||
		fail "record: $(cat said)"
	"$TOOLS/cells" whole.prof | grep left_out >bill || true
	! grep asked_by_him bill || fail "left out without limits: $(cat bill)"
done
