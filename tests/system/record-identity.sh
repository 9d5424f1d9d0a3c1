# What a context keeps is asked for; what was not kept is '-', and the option is named.
# beside others
. "$SOURCE/tests/lib.sh"
need_cpu_sampling

# rows REPORT: its table
rows() {
	awk '/^cpu-clock/ { table = 1; next } !NF { table = 0 } table' "$1"
}
culprit record --quiet -e cpu-clock -F 1000 -o plain.prof -- "$KERNELS/busy" threads 2 0.1
culprit report plain.prof --by process,thread,cpu >report
# A process's name is always kept.
expect_match "row without ids" "$(rows report)" " busy +- +- +-\$"
for kept in "threads:--per-thread" "CPUs:--per-cpu"; do
	expect_match "notes" "$(cat report)" "the profile did not keep ${kept%%:*}; 'culprit record ${kept#*:}' keeps them"
done

culprit record --quiet -e cpu-clock -F 1000 --per-process -o process.prof -- "$KERNELS/busy" tree 0.1
culprit report process.prof --by process --min 0 >report
pids=$("$TOOLS/cells" process.prof | awk -F '\t' '$1 == "cell" && $10 ~ /^busy_/ { print $12 }' | sort -u)
expect_equal "processes that worked" "$(echo "$pids" | wc -l)" 2
for pid in $pids; do
	expect_match "row of a process" "$(rows report)" " $pid +(busy|exe)\$"
done
! grep -q "did not keep" report || fail "processes were kept, yet the report misses them"
expect_equal "threads" "$("$TOOLS/cells" process.prof | awk -F '\t' '$1 == "cell" { print $13 }' | sort -u)" -

culprit record --quiet -e cpu-clock -F 1000 --per-thread -o thread.prof -- "$KERNELS/busy" threads 2 0.1
culprit report thread.prof --by thread --min 0 >report
for thread in worker-0 worker-1; do
	expect_match "row of a thread" "$(rows report)" " $thread\$"
done
! grep -q "did not keep" report || fail "threads were kept, yet the report misses them"

culprit record --quiet -e cpu-clock -F 1000 --per-cpu -a -o cpu.prof -- "$KERNELS/busy" split 0.1
culprit report cpu.prof --by cpu --min 0 >report
expect_equal "CPUs in the report" "$(rows report | awk '{ print $NF }' | sort -n | tr '\n' ' ')" \
	"$("$TOOLS/cells" cpu.prof | awk -F '\t' '$1 == "cell" { print $14 }' | sort -nu | tr '\n' ' ')"
expect_match "CPUs in the report" "$(rows report)" " [0-9]+\$"
! grep -q "did not keep" report || fail "CPUs were kept, yet the report misses them"
