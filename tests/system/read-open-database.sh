# While root records into a database, its group reads what was merged, writes nothing and holds up
# nothing; others read nothing. The files of a recording that was killed are enough to read it.
# beside others
. "$SOURCE/tests/lib.sh"
need_root
need_command setpriv python3
need_cpu_sampling
chmod 711 "$TMPDIR" .
cp "$CULPRIT" "$TMPDIR/culprit-copy"
group="setpriv --reuid=65533 --regid=0 --clear-groups $TMPDIR/culprit-copy"
others="setpriv --reuid=65534 --regid=65534 --clear-groups $TMPDIR/culprit-copy"
$group --version >/dev/null 2>&1 || skip "setpriv cannot change the user here"
culprit record --quiet -a --no-stash -F 300 --epoch 1h --merge-interval 20ms -o db 2>said &
recorder=$!
trap 'kill -9 $recorder 2>/dev/null || true' EXIT
merged() { # FEWEST: until so many samples can be read by the group
	for attempt in $(seq 500); do
		found=$($group db list --json --samples db 2>/dev/null | awk -F '[:,]' '/"samples"/ { print $2 + 0 }')
		[ "${found:-0}" -lt "$1" ] || return 0
		kill -0 $recorder || fail "the recording ended: $(cat said)"
		sleep 0.01
	done
	fail "no $1 samples were merged after 5 s"
}
merged 1
open=$(echo db/*/*.open)
expect_equal "modes" "$(stat -c '%a' db "$open" "$open/profile" | tr '\n' ' ')" "750 750 640 "
# A member of the group holds the locks of readers from here on.
mkfifo hold
setpriv --reuid=65533 --regid=0 --clear-groups python3 -c '
import fcntl, struct, sys, time
file = open(sys.argv[1], "rb")
def lock(byte):
    fcntl.fcntl(file, 37, struct.pack("hhqqi4x", fcntl.F_RDLCK, 0, byte, 1, 0))
try:
    lock(0)
except OSError:
    pass # the recorder has byte 0 for itself
while True:
    try:
        lock(1)
        break
    except OSError:
        time.sleep(0.001) # while it empties the log
print("locked", flush=True)
sys.stdin.read()' "$open/profile" <hold >locked &
exec 3>hold
while [ ! -s locked ]; do
	kill -0 $! || fail "the lock was not taken"
	sleep 0.01
done
now=$($group db list --json --samples db | awk -F '[:,]' '/"samples"/ { print $2 + 0 }')
merged $((now + 5))
$group db list db >list
expect_match "the list" "$(cat list)" "being recorded"
$group report db >/dev/null 2>said.report || fail "$(cat said.report)"
$group check "$open" >check || fail "$(cat check)"
expect_match "check" "$(cat check)" "sound, .*, being recorded"
expect_status 1 $others report db >/dev/null 2>said.others
expect_match "the message for others" "$(cat said.others)" "Permission denied|no database"
# Killed with a log that could not be emptied: the two files are enough, in a folder without writing.
[ -s "$open/profile-wal" ] || fail "the log is empty although a reader held it"
kill -9 $recorder
wait $recorder 2>/dev/null || true
exec 3>&-
expect_equal "what is in the folder" "$(ls "$open" | tr '\n' ' ')" "profile profile-wal "
chmod 550 "$open" "$(dirname "$open")"
$group report "$open" >report 2>&1 || fail "$(cat report)"
expect_match "the report" "$(cat report)" "was cut off"
chmod 750 "$open" "$(dirname "$open")"
