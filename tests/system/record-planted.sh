# What another user put there before: a recording refuses it before anything begins, or it does not
# matter. No link of his is followed, no lock of his waits, nothing of his is believed.
# beside others
. "$SOURCE/tests/lib.sh"
need_root
need_command setpriv python3
need_cpu_sampling
chmod 711 "$TMPDIR" .
cp "$TOOLS/make-profile" "$TMPDIR/make-profile"
nobody="setpriv --reuid=65534 --regid=65534 --clear-groups"
alice="setpriv --reuid=65533 --regid=65533 --clear-groups"
$nobody true || skip "setpriv cannot change the user here"
mkdir box
chmod 1777 box
echo precious >victim
chmod 666 victim # by anybody who reaches it: what keeps it is that nobody is led to it
record() {
	culprit record --quiet --no-stash -F 200 -o box/x.prof -- "$@" 2>said
}
untouched() {
	expect_equal "the victim after $1" "$(cat victim)" precious
}
again() {
	rm -rf box/x.prof* box/*.svg began
}

# Under the open profile's own name: refused before the command runs.
plant_file='cd box; : >x.prof.open'
plant_folder='cd box; mkdir -m 777 x.prof.open; : >x.prof.open/profile; chmod 666 x.prof.open/profile'
plant_link='cd box; ln -s "$PWD/../victim" x.prof.open'
plant_pipe='cd box; mkfifo -m 666 x.prof.open'
for kind in file folder link pipe; do
	eval "\$nobody sh -c \"\$plant_$kind\""
	expect_status 1 record sh -c ': >began'
	expect_match "the message for a planted $kind" "$(cat said)" \
		"^culprit: cannot write 'box/x.prof.open': it belongs to another user \(uid 65534\)$"
	[ ! -e began ] || fail "the command ran before the recording was refused"
	untouched "a planted $kind"
	again
done
# A folder of one's own that others may write into is no place either.
mkdir -m 777 box/x.prof.open
expect_status 1 record true
expect_match "the message" "$(cat said)" "other users may write in that folder$"
again

# Under names that passing files had: links, and files that he keeps locked, as he does the folder.
$nobody sh -c 'cd box; for e in open-wal open-shm new old.new; do ln -s "$PWD/../victim" x.prof.$e; done'
expect_status 0 record true
culprit check box/x.prof >check || fail "$(cat check)"
untouched "planted links"
again
mkfifo ready
$nobody python3 -c '
import fcntl, os, struct, sys
for name in ("open-wal", "open-shm", "new", "old.new"):
    file = open("box/x.prof." + name, "w+b")
    os.chmod(file.name, 0o666)
    fcntl.fcntl(file, fcntl.F_OFD_SETLK if hasattr(fcntl, "F_OFD_SETLK") else 37,
                struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))
    os.set_inheritable(os.dup(file.fileno()), True)
    os.truncate(file.name, 1 << 40)
    globals()[name] = file
fcntl.flock(os.open("box", os.O_RDONLY), fcntl.LOCK_EX)
print("ready", flush=True)
sys.stdin.read()' <ready >locked &
exec 3>ready
while [ ! -s locked ]; do
	kill -0 $! || fail "the locks were not taken"
	sleep 0.01
done
expect_status 0 record true
culprit check box/x.prof >check || fail "$(cat check)"
expect_between "size of the profile in check" "$(culprit check --json box/x.prof | awk -F '[:,]' '/file_bytes/ { print $2 }')" 1000 1000000
exec 3>&-
wait $!
again

# Under the profile's name: root takes its place, another user is told before he begins.
$nobody sh -c 'cd box; ln -s "$PWD/../victim" x.prof'
expect_status 0 record true
untouched "a link in the place of the profile"
[ -f box/x.prof ] && [ ! -L box/x.prof ] || fail "root's profile is not there"
again
$nobody sh -c ': >box/x.prof'
expect_status 1 $alice "$TMPDIR/make-profile" stacks box/x.prof cut-off 2>said
expect_match "the message" "$(cat said)" "cannot write 'box/x.prof': 'x.prof' there belongs to another user \(uid 65534\)$"
[ ! -e box/x.prof.open ] || fail "an open profile was left"
again
# A folder where the earlier profile would go.
expect_status 0 record true
$nobody mkdir box/x.prof.old
expect_status 1 record sh -c ': >began'
expect_match "the message" "$(cat said)" "would become 'x.prof.old', which is a folder$"
[ ! -e began ] || fail "the command ran before the recording was refused"
again

# What comes while it runs: the profile is kept under another name, which is said.
expect_status 1 record $nobody mkdir box/x.prof
elsewhere=$(sed -n "s/^culprit: cannot write 'box.x.prof': .*; the profile is '\(.*\)' instead$/\1/p" said)
culprit check "$elsewhere" >check || fail "$(cat said check)"
[ ! -e box/x.prof.open ] || fail "an open profile was left"
again

# -o of the other verbs.
cp "$SOURCE/tests/data/profile-v1.prof" in.prof
$nobody sh -c 'cd box; ln -s "$PWD/../victim" f.svg; ln -s .. way.svg; mkfifo -m 666 p.svg'
for verb in flame 'export -f csv'; do
	expect_status 1 culprit $verb in.prof -o box/f.svg 2>said
	expect_match "the message of $verb" "$(cat said)" \
		"^culprit: cannot write 'box/f.svg': 'box/f.svg' is a link that another user \(uid 65534\) made, and is not followed$"
	expect_status 1 culprit $verb in.prof -o box/way.svg/victim 2>said
	expect_match "the message of $verb" "$(cat said)" "'way.svg' is a link that another user \(uid 65534\) made"
	expect_status 1 timeout 5 culprit $verb in.prof -o box/p.svg 2>said
	expect_match "the message of $verb" "$(cat said)" "a pipe or device of another user"
done
expect_status 1 culprit db merge box/way.svg/victim in.prof 2>said
expect_status 1 culprit record --quiet --no-stash -o box/way.svg/victim.prof -- true 2>said
expect_match "the message" "$(cat said)" "'way.svg' is a link that another user"
untouched "planted links of outputs"
# One's own are followed, and root's.
ln -s own box/own.svg
culprit flame in.prof -o box/own.svg
[ -L box/own.svg ] && [ -s box/own ] || fail "one's own link was not followed"

# A database that he made would be read by his group.
$nobody sh -c 'cd box; mkdir -m 2777 db'
expect_status 1 culprit record --quiet --no-stash --epoch 1h -o box/db -- true 2>said
expect_match "the message" "$(cat said)" "cannot use database 'box/db': the folder belongs to another user \(uid 65534\)$"
# One of ours in his folder is ours alone.
$nobody mkdir -m 2777 box/his
expect_status 0 culprit record --quiet --no-stash --epoch 1h -o box/his/db -- true
expect_equal "mode of a database in another user's folder" "$(stat -c %a box/his/db)" 700
expect_status 0 culprit record --quiet --no-stash --epoch 1h -o box/mydb -- true
expect_equal "mode of a database" "$(stat -c %a box/mydb)" 750
