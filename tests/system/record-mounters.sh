# Owners that a user can make up prove nothing: a disk's image as the system mounts it for users (without
# set-user-ID programs), and an overlay of a user namespace's own. An overlay of root's, as
# containers have, is believed.
# beside others
. "$SOURCE/tests/lib.sh"
need_root
need_command setpriv unshare cc mkfs.ext4
need_cpu_sampling
room=$(mktemp -d /tmp/culprit-mounters.XXXXXX) # where others may look
program=
trap 'kill $program 2>/dev/null || true; umount "$room/disk" 2>/dev/null || true; rm -rf "$room"' EXIT
chmod 755 "$room"
cd "$room"
mkdir disk lower upper work merged
printf 'int main(void) { for (volatile unsigned i = 0;; i++) ; }\n' >spin.c
cc -O1 spin.c -o lower/spin
chown 65534:65534 upper work merged

# writer WANTED: of the image that the running $program was recorded with; then ends it
writer() {
	until [ "$(cat /proc/$program/comm)" = spin ]; do
		kill -0 $program 2>/dev/null || skip "$2"
	done
	culprit record --quiet -F 1000 -p $program --duration 100ms -o run.prof
	kill $program
	wait $program 2>/dev/null || true
	expect_equal "who can write it: $2" "$(culprit export -q -f csv run.prof | grep -E "^flat.*,spin,file," | awk -F , '{ print $NF }' | sort -u)" "$1"
}
lower/spin &
program=$!
writer "" "root's own program"
over="mount -t overlay overlay -o lowerdir=lower,upperdir=upper,workdir=work"
unshare --mount sh -c "$over merged && exec merged/spin" 2>log &
program=$!
writer "" "cannot mount an overlay here: $(cat log)"
setpriv --reuid=65534 --regid=65534 --clear-groups unshare --user --map-root-user --mount \
	sh -c "$over,userxattr merged && exec merged/spin" 2>log &
program=$!
writer "whoever mounted it" "cannot mount an overlay in a user namespace here: $(cat log)"
truncate -s 8M image
mkfs.ext4 -q image
mount -o loop image disk 2>log || skip "cannot mount a disk's image here: $(cat log)"
cp lower/spin disk/spin
disk/spin &
program=$!
writer "" "a disk that root mounted with all rights"
# Whoever records this machine beside us may hold a file there for a moment.
for attempt in $(seq 50); do
	! umount disk 2>log || break
	[ "$attempt" != 50 ] || fail "cannot unmount: $(cat log)"
	sleep 0.1
done
mount -o loop,nosuid,nodev image disk
disk/spin &
program=$!
writer "whoever mounted it" "a disk that was mounted without set-user-ID programs"
