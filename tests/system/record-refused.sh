# Rights that are missing from the start, or go while it records: BPF refused at load, and
# perf_event_paranoid raised. It goes on with less and says so, or ends with the reason; nothing is lost.
. "$SOURCE/tests/lib.sh"
need_root
need_command setpriv jq
paranoid=/proc/sys/kernel/perf_event_paranoid
before=$(cat $paranoid)
[ "$before" = 2 ] || skip "kernel.perf_event_paranoid is not 2"
without_bpf() {
	setpriv --bounding-set=-bpf,-sys_admin "$@"
}
without_bpf true 2>said || skip "no capability can be left out here: $(cat said)"
(while :; do "$KERNELS/two_loops" 100000000; done) >/dev/null &
loop=$!
trap 'kill $loop 2>/dev/null || true; restore_settings' EXIT

# Root without the right to load programs, beside root with it.
bytes_of_a_sample() { # NAME
	echo $(($(bill "$1.prof" ring_bytes) / $(bill "$1.prof" stored)))
}
culprit record -a -g -F 200 --duration 1s -o walked.prof 2>walked || fail "-g: $(cat walked)"
without_bpf culprit record -a -g -F 200 --duration 1s -o copied.prof 2>copied || fail "-g without CAP_BPF: $(cat copied)"
expect_match "what -g says" "$(cat copied)" "walking stacks in the kernel takes CAP_BPF and CAP_PERFMON: samples bring copies of the stack"
for name in walked copied; do
	expect_between "samples, $name" "$(bill $name.prof stored)" 100 100000
	expect_equal "two_loops is below its main, $name" \
		"$(culprit report --json --inclusive --limit 0 $name.prof | jq -r '[.rows[] | select(.image == "two_loops" and .procedure == "main")] | length')" 1
done
if ! grep -q "copies of the stack" walked; then
	expect_between "bytes of a copied sample, for one of a walked one" \
		"$(($(bytes_of_a_sample copied) / $(bytes_of_a_sample walked)))" 3 1000
	culprit record -q -a --engine bpf --duration 200ms -o counted.prof # the control of what is refused below
fi
# Where nobody asked for the table, its samples come through rings.
culprit record -q -a -e cpu-clock -F 1000 --duration 500ms -o usual.prof
without_bpf culprit record -q -a -e cpu-clock -F 1000 --duration 500ms -o rings.prof
expect_between "samples through rings" "$(bill rings.prof stored)" 100 10000
expect_equal "counts out of a table that nobody may load" "$(culprit report --json rings.prof | jq .collector.table_entries)" null
if ! grep -q "copies of the stack" walked; then
	expect_between "counts out of the table" "$(culprit report --json usual.prof | jq .collector.table_entries)" 1 10000
fi
for asked in "" -g --edges; do
	expect_status 1 without_bpf culprit record -q -a --engine bpf $asked --duration 1s -o refused.prof 2>said
	expect_match "what --engine bpf $asked says" "$(cat said)" "^culprit: counting samples in the kernel takes CAP_BPF and CAP_PERFMON"
	[ ! -e refused.prof ] || fail "a profile was written"
done

# Who has the rights is not told of them: bpf(2) is forbidden, not there, or has no memory left.
refuse() { # ERRNO WHAT
	"$TOOLS/without-bpf" $1 culprit record -a -g -F 200 --duration 500ms -o errno.prof 2>said || fail "$2: $(cat said)"
	expect_match "what -g says, $2" "$(cat said)" "walking stacks in the kernel takes $2.*: samples bring copies of the stack"
	expect_between "samples, $2" "$(bill errno.prof stored)" 50 100000
	expect_status 1 "$TOOLS/without-bpf" $1 culprit record -q -a --engine bpf --duration 1s -o no.prof 2>said
	expect_match "what --engine bpf says, $2" "$(cat said)" "^culprit: counting samples in the kernel takes $2"
	[ ! -e no.prof ] || fail "a profile was written"
	"$TOOLS/without-bpf" $1 culprit record -q -a -e cpu-clock -F 1000 --duration 500ms -o unasked.prof
	expect_between "samples through rings, $2" "$(bill unasked.prof stored)" 100 10000
}
if ! grep -q "copies of the stack" walked; then
	refuse 1 "a BPF program, and bpf\(2\) is forbidden here, by a seccomp filter"
	refuse 38 "a BPF program, and this kernel is built without"
	refuse 12 "more memory for a BPF program than is left"
fi

# An ordinary user watches whole CPUs while that is allowed. When it no longer is, what is open goes on, with
# programs that start later, and only what begins is refused.
make_open
cd open
nobody() {
	setpriv --reuid 65534 --regid 65534 --clear-groups "$@"
}
nobody ./busy split 0.1 2>/dev/null || skip "another user cannot run programs here"
guard_setting $paranoid
echo -1 >$paranoid
(exec setpriv --reuid 65534 --regid 65534 --clear-groups ./culprit record -q -a -e cpu-clock -F 1000 --duration 4s -o raised.prof) 2>said &
recorder=$!
await_sampling $recorder
nobody ./culprit record -q -a -e cpu-clock -F 100 --duration 100ms -o allowed.prof
echo 2 >$paranoid
expect_status 1 nobody ./culprit record -q -a -e cpu-clock -F 100 --duration 100ms -o later.prof 2>later
expect_match "what begins later" "$(cat later)" "^culprit: cannot sample 'cpu-clock.*permission denied"
[ ! -e later.prof ] || fail "nothing could be recorded, yet a file was left"
kill -0 $recorder || fail "the recording ended at once: $(cat said)"
./busy split 1
wait $recorder || fail "the recording ended with $?: $(cat said)"
expect_between "samples of what started after it" \
	$(($(samples raised.prof 10 busy_one) + $(samples raised.prof 10 busy_two))) 300 1300
expect_equal "lost" "$(bill raised.prof 'lost.*')" 0
