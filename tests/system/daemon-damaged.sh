# What a killed writer left, and what is damaged in a database, stops no daemon: the leftovers keep their
# bytes under another name, or stay where they are another user's, what is whole is closed, and that is
# said. Reports, pruning and compacting go on with the epochs that are whole and name the others.
. "$SOURCE/tests/lib.sh"
. "$SOURCE/tests/daemon.sh"
need_root
need_command python3
daemon --merge-interval 300ms --no-stacks
await_figure samples 100
kill -KILL "$daemon"
wait "$daemon" 2>/dev/null || true
host=db/$(uname -n)
left=$(ls -d "$host"/*.open)

# leftover NUMBER: a copy of it with a name of its own
leftover() {
	cp -a "$left" "$host/2020010${1}T000000Z.open"
	echo "$host/2020010${1}T000000Z.open"
}
# The log has all that was merged last, or the profile; cut off where it is longest.
longest() {
	ls -S "$1"/profile "$1"/profile-wal | head -1
}
truncate -s 700 "$(leftover 1)/profile"
head -c 5000 /dev/urandom >"$(leftover 2)/profile"
python3 - "$(longest "$(leftover 3)")" <<'PYTHON'
import sys
with open(sys.argv[1], "r+b") as file:
    size = file.seek(0, 2)
    for at in range(97, size, 97):
        file.seek(at)
        file.write(b"\xa5")
PYTHON
mkdir "$host/20200104T000000Z.open"
echo theirs >"$host/20200104T000000Z.open/file"
mkfifo "$host/20200105T000000Z.open"
chown -R 65501 "$(leftover 6)"
rm "$(leftover 7)/profile"
mkfifo "$host/20200107T000000Z.open/profile"
ln -s /etc "$host/20200108T000000Z.open"
echo text >"$host/20200109T000000Z.open"
rm -f "$host"/20200107T000000Z.open/profile-wal
(cd "$host" && find 2020* ! -type p ! -type d ! -type l -exec sha256sum {} + | sed 's,[.]open,,') | sort >bytes

daemon --merge-interval 300ms --epoch 1s --no-stacks
await_figure epochs_ended 0
(cd "$host" && find 2020* ! -type p ! -type d ! -type l -exec sha256sum {} + | sed 's,[.]damaged,,; s,[.]open,,') | sort >kept
expect_equal "the bytes of what was put aside" "$(cat kept)" "$(cat bytes)"
for day in 1 2 3 4 5 7 8 9; do
	name=$host/2020010${day}T000000Z
	[ -e "$name.damaged" ] || [ -L "$name.damaged" ] || fail "$name.open was not put aside: $(cat daemon.said)"
	expect_equal "times that $name is named" "$(grep -c "kept as '$name.damaged'" daemon.said)" 1
done
[ -d "$host/20200106T000000Z.open" ] || fail "another user's leftover was moved"
expect_equal "times that another user's is named" "$(grep -c "'$host/20200106T000000Z.open' stays as it is" daemon.said)" 1
expect_match "of another user's" "$(grep 20200106 daemon.said)" "belongs to another user .uid 65501."
# Once, however many epochs begin.
await_figure epochs_ended 1
expect_equal "leftovers that are named" "$(grep -c "kept as\|stays as it is" daemon.said)" 9
stop
rm -r "$host/20200106T000000Z.open"
whole=${left%.open}.prof
culprit check -q "$whole"
expect_equal "the whole one is marked as cut off" "$(bill "$whole" cut_off)" 1
expect_between "its samples" "$(bill "$whole" stored)" 100 1000000000
# The damaged ones are no epochs.
culprit db list --samples db >list.txt
! grep -q 2020010 list.txt || fail "a damaged leftover is listed: $(cat list.txt)"
expect_status 3 culprit check "$host/20200103T000000Z.damaged" >said 2>&1
expect_match "check of what was put aside" "$(cat said)" "20200103T000000Z.damaged: .*is damaged"

# Closed epochs that are cut off or changed: the others are reported, and both are named.
before=$(epochs)
expect_between "epochs" "$before" 4 100
set -- $(ls "$host"/*.prof | sed 1d)
truncate -s 3000 "$1"
python3 - "$2" <<'PYTHON'
import sys
# More than a page: some of it is content, whatever else is free.
with open(sys.argv[1], "r+b") as file:
    middle = file.seek(0, 2) // 2
    file.seek(middle)
    content = file.read(2048)
    file.seek(middle)
    file.write(bytes(byte ^ 0x55 for byte in content))
PYTHON
expect_status 0 culprit report db >report.txt 2>said
expect_match "the report" "$(cat report.txt)" "cpu-clock"
for file in "$1" "$2"; do
	expect_match "of '$file' in a report" "$(grep "$file" said)" "^culprit: warning: left out: .* 'culprit check' says more$"
done
expect_status 3 culprit check -q db >said 2>&1
for file in "$1" "$2"; do
	expect_match "of '$file' by check" "$(grep "$file" said)" "damaged"
done
expect_status 1 culprit db list db >list.txt 2>said
expect_match "the list" "$(grep "$(basename "$1" .prof)" list.txt)" "damaged"
expect_status 1 culprit db merge all.prof db 2>said
expect_between "samples of those that are whole" "$(bill all.prof stored)" "$(bill "$whole" stored)" 1000000000
# What is too old is removed all the same, whole or damaged, and but for the last three nothing stays.
sleep 1
expect_status 0 culprit db prune --older-than 1s db >said 2>&1
expect_equal "epochs that are left" "$(ls "$host" | grep -c 'prof$')" 3
