# A daemon of an ordinary user's, whom kernel.perf_event_paranoid lets sample all, and then no more: what runs goes
# on, its epochs end as before, no sample is lost; who is started after that is refused with what to do.
. "$SOURCE/tests/lib.sh"
. "$SOURCE/tests/daemon.sh"
paranoid=/proc/sys/kernel/perf_event_paranoid
guard_setting $paranoid
"$KERNELS/busy" split 600 &
load=$!
end_all() {
	clean_daemon
	restore_settings
	kill $load 2>/dev/null || true
}
trap end_all EXIT
echo -1 >$paranoid || skip "$paranoid cannot be set"
mkdir theirs
chown 65533 theirs
chmod 755 .
as_user="setpriv --reuid 65533 --regid 65533 --clear-groups --bounding-set -all"
# start SOCKET DATABASE: of that user; $daemon is its process
start() {
	$as_user "$CULPRIT" daemon --config /dev/null -o theirs/"$2" --socket theirs/"$1" -e cpu-clock --epoch 1h \
		--merge-interval 500ms --no-stash 2>daemon.said &
	daemon=$!
}
start socket db
ln -s theirs/socket socket
ln -s theirs/db db
await_state sampling
await_figure samples 200
echo 3 >$paranoid # what Debian's kernels have; others know no more than 2
before=$(figure samples)
await_figure samples $((before + 500))
ctl epoch
for i in $(seq 200); do
	[ "$(epochs)" -lt 2 ] || break
	sleep 0.1
done
await_figure epoch_seconds 0
before=$(figure samples)
await_figure samples $((before + 200))
stop
culprit check -q db >/dev/null
culprit db list --samples db
culprit db merge -q --limits none all.prof db
expect_equal "epochs" "$(epochs)" 2
expect_equal "runs" "$(bill all.prof runs)" "$(($(bill all.prof stored) + $(bill all.prof 'lost_(ring|table|damaged|skipped)')))"
expect_equal "lost" "$(bill all.prof 'lost_(ring|table|damaged|skipped)')" 0
for epoch in db/*/*.prof; do
	expect_between "samples of another user's program in $epoch" "$(samples "$epoch" 11 busy)" 100 1000000000
done

start second again
status=0
wait $daemon || status=$?
daemon=
cat daemon.said
expect_equal "exit status of one that may not" "$status" 1
expect_match "what to do" "$(cat daemon.said)" 'perf_event_paranoid is 3, system-wide needs 0 or CAP_PERFMON'
expect_equal "epochs that it left" "$(find theirs/again -type f ! -name .claim)" ""
