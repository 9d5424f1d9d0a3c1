# Another user does what he can in the folder that root records into: he reads nothing, alters
# nothing, ends nothing. In a sticky folder, and in one where he may also rename and remove.
# beside others
. "$SOURCE/tests/lib.sh"
need_root
need_command setpriv
need_cpu_sampling
chmod 711 "$TMPDIR" .
cp "$TOOLS/folder-attacker" "$TMPDIR/attacker"
nobody="setpriv --reuid=65534 --regid=65534 --clear-groups"
$nobody true || skip "setpriv cannot change the user here"
# attacked MODE FOLDER-MODE
attacked() {
	mkdir box
	chmod "$2" box
	mkfifo ready
	$nobody "$TMPDIR/attacker" "$1" box x.prof >ready 2>&1 &
	attacker=$!
	{
		read -r word
		expect_equal "the attacker" "$word" ready
		status=0
		culprit record --quiet -a --no-stash -F 300 --merge-interval 100ms --duration 400ms -o box/x.prof 2>said || status=$?
		kill "$attacker"
		cat >saw
	} <ready
	rm ready
	wait "$attacker" || true
	expect_match "what another user saw ($*)" "$(cat saw)" '^held [0-9]+, saw 0 bytes$'
}
for mode in read cut; do
	attacked $mode 1777
	expect_equal "status of the recording ($mode): $(cat said)" "$status" 0
	culprit check box/x.prof >check || fail "$(cat check)"
	expect_equal "owner and mode" "$(stat -c '%u %a' box/x.prof)" "0 600"
	rm -rf box
done
# Where he may rename and remove he may keep us from recording, and we say so; or he takes away what
# was recorded, which is whole then and still not his.
attacked read 777
if [ "$status" != 0 ]; then
	expect_match "the message ($status)" "$(cat said)" "^culprit: cannot write 'box/x.prof"
elif [ ! -e box/x.prof ]; then
	taken=$(find box -name 'stolen.*' -type f -user 0 -perm 600 -size +0 | while read -r file; do
		if culprit check "$file" >check 2>&1; then echo "$file"; fi
	done)
	[ "$taken" ] || fail "the recording ended well, and is nowhere: $(ls -l box)"
fi
