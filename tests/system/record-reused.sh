# Numbers that are given away again, while root records the whole machine: the inode of a stranger's
# deleted program and the device of his tmpfs that is gone become those of somebody else's program.
# What was scanned when recording began gives it no image, name or code.
. "$SOURCE/tests/lib.sh"
need_root
need_command setpriv cc unshare mount
need_cpu_sampling
room=$(mktemp -d /tmp/culprit-reused.XXXXXX) # where others may look
running=
trap 'kill $running 2>/dev/null || true; umount "$room/mount" 2>/dev/null || true; rm -rf "$room"' EXIT
chmod 755 "$room"
cd "$room"
stranger="setpriv --reuid=65534 --regid=65534 --clear-groups"
alice="setpriv --reuid=65533 --regid=65533 --clear-groups"

# Of one size and build-id, so that only the kernel tells one from the other.
for name in stolen secret; do
	cat >$name.c <<-END
	#include <unistd.h>
	__attribute__((noinline)) void ${name}_work(void) { for (volatile int i = 0; i < 100000; i++) ; }
	int main(int count, char **words) { if (count > 1) pause(); for (;;) ${name}_work(); }
	END
	cc -O1 -static -Wl,--build-id=0x0123456789abcdef $name.c -o $name
done

# expect_own PROFILE COMMAND: only the names of its own
expect_own() {
	culprit report "$1" --process "$2" --limit 0 --by process,image,procedure >report
	expect_match "$1: the program's own" "$(cat report)" " $2 +$2 +secret_work\$"
	! grep ' stolen' report || fail "$1: the stranger's names"
}

# begin PROFILE: records until end_recording
begin() {
	culprit record --quiet -a -F 997 -o "$1" 2>"$1.said" &
	recorder=$!
	for i in $(seq 100); do
		[ ! -e "$1.open" ] || break
		sleep 0.1
	done
	sleep 1 # what runs is known
}
end_recording() {
	sleep 1
	kill -INT $recorder
	wait $recorder || fail "recording: $(cat ./*.said)"
}

# 1. The inode of a file, on the disk: 90 other programs push its open descriptor out of those held.
mkdir -m 1777 box
$stranger sh -c 'cp stolen box/evil; cp stolen box/again; for i in $(seq 90); do cp stolen box/push$i; done'
$stranger box/evil sleep &
evil=$!
running=$evil
inode=$(stat -c %i box/evil)
begin inode.prof
$stranger sh -c 'for i in $(seq 90); do timeout 0.01 box/push$i sleep; done; kill $0; sleep 0.3; mv box/again box/evil' $evil || true
$alice sh -c 'for i in $(seq 400); do cp secret box/v$i; [ $(stat -c %i box/v$i) = $0 ] && break; done; mv box/v$i box/program' $inode
$alice box/program &
running=$!
end_recording
kill $running
if [ "$(stat -c %i box/program)" = "$inode" ]; then
	expect_own inode.prof program
	inode_reused=yes
fi

# 2. The device of a tmpfs.
mkdir mount place
chown 65534 place
number() { stat -c '%d %i' "$1"; }
$stranger unshare -Urm sh -c 'mount -t tmpfs t place && cd place && cp ../stolen evil && stat -c "%d %i" evil >&3 && exec ./evil sleep' 3>theirs &
evil=$!
running=$evil
for i in $(seq 50); do
	[ -s theirs ] && break
	sleep 0.1
done
[ -s theirs ] || { [ -n "${inode_reused:-}" ] && exit 0; skip "no inode was given again, and no user namespaces here"; }
begin device.prof
kill $evil
for i in $(seq 20); do # until the namespace is gone
	sleep 0.1
	mount -t tmpfs t mount
	cp secret mount/service
	[ "$(number mount/service)" != "$(cat theirs)" ] || break
	umount mount
done
if [ -e mount/service ]; then
	mount/service &
	running=$!
	end_recording
	kill $running
	wait $running || true
	expect_own device.prof service
else
	end_recording
	[ -n "${inode_reused:-}" ] || skip "neither the inode nor the device was given again here"
fi
