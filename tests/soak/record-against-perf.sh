# The same workload in the same seconds, sampled by culprit and by perf: every
# procedure and every code page must agree within what two counts can differ,
# and the total must be the busy time of the machine.
. "$SOURCE/tests/lib.sh"
. "$SOURCE/tests/compiling.sh"
need_command perf python3
need_root

period=1105579 # ns, prime, and far from every fraction of the 4 ms tick: a rate that divides it would lock to it
seconds=${COMPARE_SECONDS:-20}
perf record -q -B -k mono -a -e cpu-clock:I -c $period -o probe.data -- true >/dev/null 2>&1 ||
	skip "perf cannot record cpu-clock system-wide here"

compile &
compiling=$!
compress &
compressing=$!
stop() {
	kill $compiling $compressing 2>/dev/null || true
}
trap stop EXIT
sleep 1

busy_ns() { # wall - idle - iowait of all CPUs
	awk -v hz="$(getconf CLK_TCK)" '/^cpu /{ print ($2 + $3 + $4 + $7 + $8 + $9) * 1e9 / hz }' /proc/stat
}
before=$(busy_ns)
began=$(date +%s.%N)
perf record -q -B -k mono -a -e cpu-clock:I -c $period -o perf.data -- \
	culprit record -q -a -e cpu-clock -F 1000 -o culprit.prof --duration "${seconds}s" >perf.log 2>&1 ||
	fail "recording: $(cat perf.log)"
after=$(busy_ns)
around=$(awk -v from="$began" -v to="$(date +%s.%N)" 'BEGIN { print to - from }')
stop

perf script -i perf.data -F comm,pid,tid,time,ip,event --show-mmap-events --show-task-events --ns >perf.txt 2>perf.log ||
	skip "perf cannot read its own recording: $(tail -n 1 perf.log)" # 6.1 dies of containers that came and went
"$TOOLS/cells" culprit.prof >cells.txt

python3 "$SOURCE/tests/soak/compare-perf.py" cells.txt perf.txt $period || fail "culprit and perf disagree"

# What the samples stand for, and what the bill says is missing, against the kernel's own accounts.
estimate=$(awk -F '\t' '$1 == "cell" { sum += $7 } END { printf "%.0f", sum }' cells.txt)
item() {
	awk -F '\t' -v item="$1" '$1 == "bill" && $4 == item { sum += $5 } END { printf "%.0f", sum }' cells.txt
}
busy=$(item busy_ns)
accounted=$((estimate + $(item shortfall_ns) - $(item surplus_ns)))
echo "busy $busy ns, samples stand for $estimate ns, shortfall $(item shortfall_ns) ns, surplus $(item surplus_ns) ns"
expect_between "estimate and shortfall over busy time" \
	"$(awk -v a="$accounted" -v b="$busy" 'BEGIN { print a / b }')" 0.99 1.01
# the busy time is that of the recorded seconds; around them perf starts and ends, slowly on a busy machine
expect_between "busy time in the bill over that of /proc/stat around it" \
	"$(awk -v a="$busy" -v b="$after" -v c="$before" 'BEGIN { print a / (b - c) }')" \
	"$(awk -v all="$around" -v recorded="$seconds" 'BEGIN { print 0.84 * recorded / all }')" 1.01
