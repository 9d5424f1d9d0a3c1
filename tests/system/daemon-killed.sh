# A daemon that is killed loses no more than what came since its last merge; the next one closes what it
# left, marked as cut off, and takes its socket.
. "$SOURCE/tests/lib.sh"
. "$SOURCE/tests/daemon.sh"
daemon --merge-interval 500ms --no-stacks
! grep -q "recording before" daemon.said || fail "a first daemon says: $(cat daemon.said)"
await_figure samples 100
# Its last merge is no older than this: another comes before the kill.
before_ns=$(date +%s%N)
await_figure samples "$(figure samples)"
merged=$(figure samples)
kill -KILL "$daemon"
killed_ns=$(date +%s%N)
wait "$daemon" 2>/dev/null || true
expect_equal "its state" "$(state)" gone
culprit db list db >list.txt
expect_match "the epoch" "$(cat list.txt)" "cut off"
# One that is killed before its first merge hides nothing of that time.
sleep 2
daemon --merge-interval 1h --no-stacks
kill -KILL "$daemon"
wait "$daemon" 2>/dev/null || true
start_ns=$(date +%s%N)
daemon --merge-interval 500ms --no-stacks
sampling_ns=$(date +%s%N)
expect_match "what it says" "$(cat daemon.said)" "recording before was cut off or failed: of about [0-9.]* s there is nothing"
await_figure samples 0
stop
expect_equal "epochs" "$(epochs)" 2
first=$(culprit db list db --json | sed -n 's/^ *"path":"\(.*\)",$/\1/p' | head -1)
expect_between "samples of the killed one" "$(bill "$first" stored)" "$merged" 1000000000
expect_equal "marked as cut off" "$(bill "$first" cut_off)" 1
# From the last merge to its own first sample: the kill and its start lie between, and both within what was seen to be
# before and after, however long that took.
second=$(culprit db list db --json | sed -n 's/^ *"path":"\(.*\)",$/\1/p' | tail -1)
unsampled=$("$TOOLS/cells" "$second" | awk -F '\t' '$4 == "unsampled_ns" { print $5 }')
expect_between "what was not sampled before it" "$unsampled" \
	"$((start_ns - killed_ns))" "$((sampling_ns - before_ns))"
echo "not sampled for $unsampled ns, of $((start_ns - killed_ns)) to $((sampling_ns - before_ns))"
culprit report "$second" >report.txt
expect_match "its report" "$(cat report.txt)" "not sampled for about [0-9.]+ s before it .estimated.$"
culprit report --json "$second" >report.json
expect_match "its report in JSON" "$(grep unsampled report.json)" "\"unsampled_ns\":$unsampled,"
culprit db list --samples db >list.txt
expect_equal "epochs with a gap before them" "$(grep -c "not sampled for about [0-9.]* s before it$" list.txt)" 1
culprit db list --samples --json db >list.json
expect_match "the list in JSON" "$(grep unsampled list.json)" "\"unsampled_ns\":$unsampled"
expect_equal "what was not sampled before the first" "$(bill "$first" unsampled_ns)" 0
culprit check db
# One that ends in order, and one that is paused, leaves no gap.
daemon --merge-interval 500ms --no-stacks
! grep -q "recording before" daemon.said || fail "one that follows in order says: $(cat daemon.said)"
await_figure samples 0
ctl pause
await_state paused
ctl resume
await_state sampling
await_figure samples "$(figure samples)"
stop
culprit db merge killed.prof db
expect_equal "gaps in the database" "$("$TOOLS/cells" killed.prof | awk -F '\t' '$4 == "unsampled_ns" { print $5 }')" "$unsampled"

# Killed at any moment, also while it merges and while it closes an epoch: what was merged is there, as
# who reads the database has seen it before.
for wait in 0.03 0.11 0.23 0.31 0.47 0.59; do
	daemon --merge-interval 100ms --epoch 1s --no-stacks
	await_figure samples 0
	sleep $wait
	seen=$(samples_in_all)
	kill -KILL "$daemon"
	wait "$daemon" 2>/dev/null || true
	daemon=
	total=$(samples_in_all)
	expect_between "samples in all" "$total" "$seen" 1000000000
	expect_between "samples in all" "$total" "${total_before:-1}" 1000000000
	total_before=$total
done
daemon --no-stacks
stop
culprit check db
culprit db merge killed.prof db
expect_between "samples in the end" "$(bill killed.prof stored)" "$total_before" 1000000000
