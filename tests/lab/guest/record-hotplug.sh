# A CPU that is taken offline and comes back while the machine is recorded is sampled again; what is
# not known of it is told, and nothing is counted twice.
# boots: plain
. "$LIB"
online=/sys/devices/system/cpu/cpu1/online
[ -w $online ] || skip "CPU 1 cannot be taken offline here"

cat >drive <<END
uptime() { read -r up idle </proc/uptime; echo "\$up"; }
both() {
	"$KERNELS/busy" split "\$1" &
	"$KERNELS/busy" split "\$1" &
	wait
}
cycle() {
	echo "left \$(uptime)"
	echo 0 >$online
	"$KERNELS/busy" split 1
	echo 1 >$online
	echo "back \$(uptime)"
}
both 1
cycle
both 2
cycle
both 2
END
culprit record -a --per-cpu --no-stash -F 100 -e cpu-clock,cycles -o two.prof -- sh ./drive >times 2>said ||
	{ cat said; fail "record failed"; }
cat times said
"$TOOLS/cells" two.prof >cells
# bill ITEM CPU [EVENT], in seconds
bill_of() {
	awk -F '\t' -v item="$1" -v cpu="$2" -v event="${3:--}" '$1 == "bill" && $2 == event && $3 == cpu && $4 == item {
		sum += $5; seen = 1 } END { if (seen) printf "%.3f\n", sum / 1e9 }' cells
}
away=$(awk '{ if ($1 == "left") left = $2; else sum += $2 - left } END { print sum }' times)
# seen within a tenth of a second, and what the emulated machine needs for it
expect_between "seconds that CPU 1 was away" "$(bill_of offline_ns 1)" \
	"$(awk "BEGIN { print $away - 1 }")" "$(awk "BEGIN { print $away + 1 }")"
expect_equal "what the bill says of CPU 0" "$(bill_of offline_ns 0)" ""
expect_match "what was said" "$(cat said)" "warning: 1 CPU was offline 2 times, the first time CPU 1 from [0-9.]+ s to [0-9.]+ s"
for event in cpu-clock cycles; do
	whole=$(bill_of enabled_ns 0 $event)
	part=$(bill_of enabled_ns 1 $event)
	# counted or away, each moment once
	expect_between "$event: seconds of CPU 1" "$(awk "BEGIN { print $part + $(bill_of offline_ns 1) }")" \
		"$(awk "BEGIN { print $whole - 0.1 }")" "$(awk "BEGIN { print $whole + 0.1 }")"
done
# five seconds of work on each of the two, less what CPU 0 did of it alone
samples=$(samples two.prof 2 cpu-clock 14 1)
expect_between "samples of CPU 1" "$samples" 300 1000
expect_between "seconds online" "$(bill_of online_ns 1)" "$(awk "BEGIN { print $whole - $(bill_of offline_ns 1) - 0.2 }")" \
	"$(awk "BEGIN { print $whole - $(bill_of offline_ns 1) + 0.2 }")"
busy=$(bill_of busy_ns 1)
weighed=$(awk -F '\t' '$1 == "cell" && $2 == "cpu-clock" && $14 == 1 { sum += $7 } END { print sum / 1e9 }' cells)
expect_between "seconds that samples of CPU 1 stand for" "$weighed" \
	"$(awk "BEGIN { print 0.5 * $busy }")" "$(awk "BEGIN { print 1.1 * $busy }")"
