# When sampling begins and ends: --delay, --duration, and on which CPUs.
# beside others
. "$SOURCE/tests/lib.sh"
need_cpu_sampling

# The first phase is over before the delay is, unless the machine is too slow: then once more.
for attempt in 1 2 3 4 5; do
	culprit record --quiet -F 1000 -D 400ms -o delay.prof -- "$KERNELS/phases" 200 2000 >end
	start=$("$TOOLS/cells" delay.prof | awk -F '\t' '$1 == "source" { print $2 }')
	! awk -v end="$(cat end)" -v start="$start" 'BEGIN { exit !(end < start) }' || break
	[ $attempt != 5 ] || skip "the machine is too slow for a delay of 400 ms"
done
expect_equal "samples before the delay was over" "$(samples delay.prof 10 phase_one)" 0
expect_between "samples after the delay" "$(samples delay.prof 10 phase_two)" 1 4000
# The command ends first: nothing was sampled, and that is said.
expect_status 3 culprit record -F 1000 -D 20s -o short.prof -- sh -c 'exit 3' 2>err
expect_match "message" "$(cat err)" "^culprit: warning: no samples"
expect_equal "samples of a command that was too short" "$(samples short.prof)" 0

# What is mapped while we wait is taken meanwhile: it would not fit into the ring.
culprit record --quiet -F 1000 -D 20s -o mappings.prof -- "$KERNELS/jitted" mappings 0.01
expect_between "lost records" "$(bill mappings.prof lost_sideband)" 0 5000

# A command that goes on after --duration is left alone, and its status is not known.
rm -f goes-on
expect_status 0 timeout 30 "$CULPRIT" record --quiet -F 100 --duration 100ms -o duration.prof -- \
	sh -c 'until [ -e go ]; do sleep 0.05; done; echo >goes-on; exit 3'
touch go
for attempt in $(seq 100); do
	[ ! -e goes-on ] || break
	sleep 0.05
done
[ -e goes-on ] || fail "the command was ended with the recording"

# One CPU, and the bill knows no other.
culprit record --quiet -F 500 --per-cpu -C 0 --duration 200ms -o cpu.prof
expect_equal "samples of CPU 0" "$(samples cpu.prof 14 0)" "$(samples cpu.prof)"
expect_equal "CPUs in the bill" "$("$TOOLS/cells" cpu.prof | awk -F '\t' '$1 == "bill" && $4 == "stored" { print $3 }')" 0
expect_status 1 culprit record --quiet -C 4000 -o cpu.prof 2>err
expect_match "message" "$(cat err)" "^culprit: .*4000"
