# A daemon from its start to its end: what it tells of itself, epochs, a snapshot, a pause, metrics,
# and a database that has exactly what it says.
. "$SOURCE/tests/lib.sh"
. "$SOURCE/tests/daemon.sh"
daemon --merge-interval 1s --metrics metrics.prom --no-stacks
expect_status 1 culprit daemon --config /dev/null -o other --socket socket 2>said
expect_match "of a second daemon" "$(cat said)" "another daemon has the socket 'socket'"
expect_status 1 culprit daemon --config /dev/null -o db --no-socket -e cpu-clock 2>said
expect_match "of another one on its database" "$(cat said)" "db"
await_figure samples 0
expect_match "its status" "$(ctl status)" "^daemon     sampling: version"
ctl snapshot -q -o snapshot.prof
culprit check snapshot.prof
expect_between "samples of the snapshot" "$(bill snapshot.prof stored)" 1 1000000000
culprit report snapshot.prof >report.txt
ctl epoch --label build=7
await_figure epochs_ended 0
expect_equal "epochs" "$(epochs)" 2
ctl flush
expect_equal "epochs with the label" "$(epochs --label build=7)" 1

# While it is paused there is no open epoch, and nothing is counted.
ctl pause
await_state paused
expect_equal "open epochs" "$(culprit db list db --json | grep -c '"open":true' || true)" 0
before=$(figure samples)
sleep 0.5
expect_equal "samples while it is paused" "$(figure samples)" "$before"
for request in flush epoch snapshot; do
	expect_status 1 ctl $request 2>said
	expect_match "$request of one that is paused" "$(cat said)" \
		"the daemon refuses: the daemon does not sample now: it is paused"
done
ctl pause
ctl resume
await_state sampling
await_figure samples "$before"
ctl flush
ctl metrics >asked.prom
ctl status >asked.status
expect_match "metrics" "$(cat asked.prom)" '^culprit_samples_total [1-9]'
expect_match "metrics in the file" "$(cat metrics.prom)" '^culprit_sampling [01]$'
expect_equal "names in the file alone" "$(sed 's/ .*//' metrics.prom | grep -v '^#' | sort -u | while read -r name; do
	grep -qF "$name " asked.prom || echo "$name"
done)" ""
expect_status 2 ctl dance 2>said
expect_match "of an unknown request" "$(cat said)" "say status, metrics, snapshot"
stop
[ ! -e socket ] || fail "the socket is still there"
expect_match "metrics when it has ended" "$(cat metrics.prom)" '^culprit_sampling 0$'
expect_status 1 ctl status 2>said
expect_match "when it is gone" "$(cat said)" "no daemon answers at 'socket'; 'culprit daemon' starts one"
expect_equal "epochs in the end" "$(epochs)" 3
culprit check db
culprit report db >report.txt
expect_equal "lost" "$(culprit db merge all.prof db && bill all.prof 'lost_.*')" 0

# Where samples are counted in the kernel, one in 64 of each CPU is timed there, the first one too; before
# and after the pause they are counted anew.
if [ "$(bill all.prof table_entries)" -gt 0 ]; then
	runs=$(bill all.prof runs)
	timed=$(bill all.prof 'timed_(hits|misses)')
	expect_between "samples timed of $runs" "$timed" $((runs / 64)) $((runs / 64 + 2 * $(nproc --all) + 1))
	expect_between "their time, ns" "$(bill all.prof 'timed_(hit|miss)_ns')" "$timed" 1000000000
	expect_match "its status" "$(cat asked.status)" "interrupt side: about [1-9][0-9]* ns a sample"
	expect_match "its metrics" "$(cat asked.prom)" '^culprit_kernel_sample_seconds_count[{]kind="miss"[}] [1-9]'
	expect_match "the report" "$(cat report.txt)" "interrupt side: about [1-9][0-9]* ns a sample"
fi
