# Rights that are missing from the start, or go while it records: BPF refused at load, and
# perf_event_paranoid raised. It goes on with less and says so, or ends with the reason; nothing is lost.
. "$SOURCE/tests/lib.sh"
need_root
need_command setpriv jq
[ "$(cat /proc/sys/kernel/perf_event_paranoid)" = 2 ] || skip "kernel.perf_event_paranoid is not 2"

# Root without the right to load programs. Control: with it stacks come walked, in a few hundred bytes.
without_bpf() {
	setpriv --bounding-set=-bpf,-sys_admin "$@"
}
without_bpf true 2>said || skip "no capability can be left out here: $(cat said)"
need_recording system
"$KERNELS/two_loops" 4000000000 >/dev/null &
loop=$!
trap 'kill $loop 2>/dev/null || true; echo 2 >/proc/sys/kernel/perf_event_paranoid' EXIT
without_bpf culprit record -a -g -F 200 --duration 1s -o copied.prof 2>said || fail "-g without CAP_BPF: $(cat said)"
expect_match "what -g says" "$(cat said)" "walking stacks in the kernel takes CAP_BPF and CAP_PERFMON: samples bring copies of the stack"
expect_between "samples without CAP_BPF" "$(bill copied.prof stored)" 100 100000
expect_between "bytes of a sample" "$(($(bill copied.prof ring_bytes) / $(bill copied.prof stored)))" 1000 20000
expect_equal "two_loops is below its main" \
	"$(culprit report --json --inclusive --limit 0 copied.prof | jq -r '[.rows[] | select(.image == "two_loops" and .procedure == "main")] | length')" 1
for asked in "" -g --edges; do
	expect_status 1 without_bpf culprit record -q -a --engine bpf $asked --duration 1s -o refused.prof 2>said
	expect_match "what --engine bpf $asked says" "$(cat said)" "^culprit: counting samples in the kernel takes CAP_BPF and CAP_PERFMON"
	[ ! -e refused.prof ] || fail "a profile was written"
done

# Whoever records his own programs goes on when that is forbidden to others who begin: the events are open, and
# children that start later have them as well.
make_open
cd open
nobody() {
	setpriv --reuid 65534 --regid 65534 --clear-groups "$@"
}
nobody ./busy split 0.1 2>/dev/null || skip "another user cannot run programs here"
nobody ./culprit record -e cpu-clock -F 1000 -o raised.prof -- \
	sh -c './busy split 0.5; while [ ! -e go-on ]; do sleep 0.02; done; exec ./busy split 1' 2>said &
recorder=$!
for wait in $(seq 500); do
	! pgrep -f 'while .*go-on' >/dev/null || break
	sleep 0.02
done
sleep 0.7
echo 3 >/proc/sys/kernel/perf_event_paranoid
expect_status 1 nobody ./culprit record -e cpu-clock:k -F 100 -o later.prof -- true 2>later
[ ! -e later.prof ] || fail "nothing could be recorded, yet a file was left"
touch go-on
wait $recorder || fail "the recording ended with $?: $(cat said)"
echo 2 >/proc/sys/kernel/perf_event_paranoid
expect_between "samples of before and after" $(($(samples raised.prof 10 busy_one) + $(samples raised.prof 10 busy_two))) 1200 1700
expect_equal "lost" "$(bill raised.prof 'lost.*')" 0
