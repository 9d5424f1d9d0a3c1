# On a full disk a daemon keeps running and says so; when there is room again nothing is missing of what
# it counted meanwhile.
. "$SOURCE/tests/lib.sh"
. "$SOURCE/tests/daemon.sh"
need_root
mkdir db
mount -t tmpfs -o size=8m tmpfs db 2>/dev/null || skip "cannot mount a tmpfs here"
unmount() {
	clean_daemon
	wait
	umount -l db
}
trap unmount EXIT
daemon --merge-interval 300ms --epoch 2s --no-stacks
await_figure samples 0
dd if=/dev/zero of=db/filler bs=4k 2>/dev/null || true
await_message() {
	for i in $(seq 150); do
		! grep -q "$1" daemon.said || return 0
		sleep 0.1
	done
	fail "the daemon does not say '$1': $(cat daemon.said)"
}
await_message "No space left on device"
while_full=$(figure samples)
await_figure samples "$while_full"
expect_equal "its state" "$(state)" sampling
while_full=$(figure samples)
rm db/filler
# It tries again every 10 s.
for i in $(seq 300); do
	[ "$(culprit db list db --json | grep -c '"open":false' || true)" -lt 2 ] || break
	sleep 0.1
done
stop
trap unmount EXIT
culprit check db
mkdir out
culprit db merge out/all.prof db
expect_between "samples" "$(bill out/all.prof stored)" "$while_full" 1000000000
expect_equal "open epochs" "$(culprit db list db --json | grep -c '"open":true' || true)" 0
