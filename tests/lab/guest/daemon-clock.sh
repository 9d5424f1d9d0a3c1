# The machine's clock is set while a daemon records, forward by two hours and then back by one: it says so, epochs
# follow the clock from the next one on, none has another's name or time, and every sample is in one of them.
# boots: plain
. "$LIB"
"$KERNELS/busy" split 600 &
load=$!
daemon=
clean() {
	kill $load $daemon 2>/dev/null || true
}
trap clean EXIT
culprit daemon --config /dev/null -o db --socket socket -F 100 -e cpu-clock --no-stacks --no-stash --epoch 1h \
	--merge-interval 1s 2>said &
daemon=$!
figure() {
	culprit ctl --socket socket status --json 2>/dev/null | sed -n "s/^ *\"$1\":\\([0-9]*\\),\\{0,1\\}\$/\\1/p"
}
# await_more: until some more samples are there
await_more() {
	wanted=$(($(figure samples || true) + 100))
	for i in $(seq 300); do
		now=$(figure samples)
		[ "${now:-0}" -lt $wanted ] || return 0
		sleep 0.2
	done
	fail "the daemon does not sample: $(cat said)"
}
await_more
# set_clock SECONDS: from now, and a moment for the daemon to see it
set_clock() {
	date -s "@$(($(date +%s) + $1))" >/dev/null || skip "the clock cannot be set here"
	await_more
	sleep 2
	culprit ctl --socket socket epoch
	await_more
}
set_clock 7200
set_clock -3600
culprit ctl --socket socket stop
wait $daemon || fail "the daemon ended with $?: $(cat said)"
daemon=
cat said
culprit check -q db >/dev/null
culprit db list --samples db
expect_match "what it says" "$(cat said)" "the clock was set forward by 7[12][0-9][0-9]"
expect_match "what it says" "$(cat said)" "the clock was set back by 3[56][0-9][0-9]"
starts=$(culprit db list --json db | sed -n 's/^ *"epoch":"\(.*\)",\{0,1\}$/\1/p')
expect_equal "epochs" "$(echo "$starts" | wc -l)" 3
expect_equal "names of epochs" "$(echo "$starts" | sort -u | wc -l)" 3
culprit db merge -q --limits none all.prof db
expect_equal "runs" "$(bill all.prof runs)" "$(($(bill all.prof stored) + $(bill all.prof 'lost_(ring|table|damaged|skipped)')))"
expect_equal "samples of all epochs" "$(bill all.prof stored)" \
	"$(for epoch in db/*/*.prof; do bill "$epoch" stored; done | awk '{ sum += $1 } END { print sum }')"
