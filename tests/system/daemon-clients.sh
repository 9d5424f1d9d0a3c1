# Clients that flood, say nothing or say garbage hurt neither the daemon nor who asks properly; another
# user is refused.
. "$SOURCE/tests/lib.sh"
. "$SOURCE/tests/daemon.sh"
need_command python3
daemon --merge-interval 1s --no-stacks
await_figure samples 0
python3 - socket <<'PYTHON' &
import os, socket, sys, time
end = time.monotonic() + 4
kept = []
while time.monotonic() < end:
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(0.05)
    try:
        client.connect(sys.argv[1])
        client.send(os.urandom(len(kept) % 3000 + 1))
    except OSError:
        pass
    if len(kept) % 5:
        client.close()
    kept.append(client)
    if len(kept) % 50 == 0:
        kept = kept[-4:]
PYTHON
flood=$!
answered=0
for i in $(seq 3); do
	! ctl status >/dev/null 2>said || answered=$((answered + 1))
done
wait $flood
# The silent ones have 5 s.
await_state sampling
echo "answered while it was flooded: $answered of 3"
before=$(figure samples)
await_figure samples "$before"
expect_equal "lost" "$(ctl metrics | sed -n 's/^culprit_samples_lost_total{cause="ring"} //p')" 0
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	chmod 755 .
	expect_status 1 setpriv --reuid=65501 --regid=65501 --clear-groups "$CULPRIT" ctl --socket socket stop 2>said
	expect_match "of another user" "$(cat said)" "no right to ask the daemon at 'socket'"
	chmod 666 socket
	expect_status 1 setpriv --reuid=65501 --regid=65501 --clear-groups "$CULPRIT" ctl --socket socket stop 2>said
	expect_match "of another user whom the file lets in" "$(cat said)" \
		"the daemon refuses: this daemon answers root, its own user, and its group's members"
	expect_status 1 setpriv --reuid=65501 --regid="$(id -g)" --clear-groups "$CULPRIT" ctl --socket socket stop 2>said
	expect_match "of a member of its group" "$(cat said)" "'stop' is for root and the daemon's own user"
	setpriv --reuid=65501 --regid="$(id -g)" --clear-groups "$CULPRIT" ctl --socket socket status >said
	expect_match "the status, to a member" "$(cat said)" "^daemon     sampling"
fi
stop
