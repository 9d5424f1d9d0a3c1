# At a high rate an idle machine's busy time is mostly the timer's own interrupts: they are named
# and estimated, as many as idle time had room for, and never more than there is to explain.
. "$SOURCE/tests/lib.sh"
need_cpu_sampling
need_command jq

# figures PROFILE: a line of seconds and counts
figures() {
	culprit report --json "$1" | jq -r '.events[0] as $e | $e.bill as $b | [.scope.online_ns, .scope.busy_ns,
		$b.shortfall_ns, $b.period_changes, $b.idle_interrupts, $b.idle_interrupt_low_ns,
		$b.idle_interrupt_ns, $b.idle_interrupt_high_ns, .collector.idle_interrupt_ns] | map(. // "-") | @tsv'
}
# check PROFILE RATE: what holds on any CPU, however much else it has to do
check() {
	expect_equal "whether it is told" \
		"$(culprit report --json "$1" | jq '.events[0].bill | has("idle_interrupt_ns")')" true
	figures "$1" >figures
	read -r online busy shortfall changes count low ns high collector <figures
	expect_between "online time" "$online" 1 1e15
	if [ "$ns" = - ]; then # where no CPU idles nobody can tell what it costs there
		expect_equal "what is not known" "$count $low $high $collector" "- - - -"
		expect_between "the share of busy time without a known cost" "$(ratio "$busy" "$online")" 0.4 1.1
		return
	fi
	expect_between "interrupts while idle" "$count" 0 1e12
	expect_between "the lower end" "$low" 0 "$ns"
	expect_between "the estimate" "$ns" "$low" "$high"
	expect_between "the upper end" "$high" "$ns" "$shortfall"
	expect_between "the shortfall" "$shortfall" 0 "$busy"
	expect_equal "what the collector is said to cost" "$collector" "$ns"
	# They come at the rate while the CPU idles, and while they are handled themselves. One over a random period has a
	# standard deviation of 0.35 of its mean (collect/period.h), and each is in force for as long as another. Of each CPU
	# /proc/stat tells idle time in ticks.
	margin=0.03
	[ "$changes" = 0 ] || margin=$(awk -v n="$((changes + $(nproc)))" 'BEGIN { print 0.03 + 4 * 0.35 / sqrt(n) }')
	tick=$(($2 * $(nproc) / $(getconf CLK_TCK)))
	expect_between "interrupts while idle" "$count" \
		"$(awk -v r="$2" -v s="$((online - busy))" -v m="$margin" -v t="$tick" \
			'BEGIN { print r * s / 1e9 * (1 - m) - t }')" \
		"$(awk -v r="$2" -v s="$((online - busy))" -v h="$high" -v m="$margin" -v t="$tick" \
			'BEGIN { print r * (s + h) / 1e9 * (1 + m) + t }')"
}

# What an interrupt costs is not known where others run in most of the time.
for attempt in 1 2 3; do
	culprit record --quiet -a -e cpu-clock -F 5000 --no-random --duration 1s -o idle.prof
	! culprit report --json idle.prof | jq -e '.events[0].bill.idle_interrupt_ns' >/dev/null || break
done
check idle.prof 5000
culprit record --quiet -a -e cpu-clock -F 5000 --duration 2s -o random.prof
check random.prof 5000

"$KERNELS/busy" threads "$(nproc)" 30 &
pid=$!
trap 'kill $pid 2>/dev/null || true' EXIT
while [ "$(ls /proc/$pid/task | wc -l)" != $(($(nproc) + 1)) ]; do sleep 0.01; done
culprit record --quiet -a -e cpu-clock -F 5000 --duration 500ms -o busy.prof
check busy.prof 5000
[ "$ns" = - ] || expect_between "interrupts while idle, of a busy machine" \
	"$(ratio "$count" "$(culprit report --json busy.prof | jq '.events[0].bill.overflows')")" 0 0.2
culprit record --quiet -a -e cpu-clock -F 5000 --epoch 1s --duration 1300ms -o epochs
check epochs 5000

# Events that count no time have no timer.
culprit record --quiet -a -e page-faults -c 100 --duration 200ms -o faults.prof
expect_equal "interrupts of an event that is no clock" \
	"$(culprit report --json faults.prof | jq -c '[.events[0].bill.idle_interrupts, .collector.idle_interrupt_ns]')" "[null,null]"
