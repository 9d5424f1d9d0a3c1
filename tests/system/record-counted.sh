# Counted events at period 1: every event is a sample, and the estimate is the count.
# beside others
. "$SOURCE/tests/lib.sh"
need_cpu_sampling

# check PROFILE EVENT LOW
check() {
	counted=$("$TOOLS/cells" "$1" | awk -F '\t' -v event="$2" '$1 == "bill" && $2 == event && $4 == "count" { s += $5 } END { print s + 0 }')
	estimate=$("$TOOLS/cells" "$1" | awk -F '\t' -v event="$2" '$1 == "cell" && $2 == event { s += $7 } END { print s + 0 }')
	expect_between "count of $2 in $1" "$counted" "$3" 1000000
	expect_equal "estimate of $2 in $1" "$estimate" "$counted"
	expect_equal "lost in $1" "$(bill "$1" 'lost_.*')" 0
}
culprit record --quiet -c 1 -e page-faults -o faults.prof -- "$KERNELS/busy" execs 10 1
check faults.prof page-faults 300
expect_equal "samples of page faults" "$(samples faults.prof)" "$counted"

# Each sleep is a switch at least.
culprit record --quiet -c 1 -e context-switches -o switches.prof -- \
	sh -c 'for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.001; done'
check switches.prof context-switches 20
expect_equal "samples of context switches" "$(samples switches.prof)" "$counted"

# In a group the leader samples; what its members counted since then is theirs, all but the end.
culprit record --quiet -F 4000 -e '{cpu-clock,page-faults}' -o group.prof -- "$KERNELS/busy" execs 20 4
expect_equal "samples of a member" "$(samples group.prof 2 page-faults)" 0
expect_between "samples of the leader" "$(samples group.prof 2 cpu-clock)" 50 2000
culprit record --quiet -c 1 -e '{page-faults,cpu-clock}' -o led.prof -- "$KERNELS/busy" execs 20 4
check led.prof page-faults 600
expect_equal "samples of the leader" "$(samples led.prof 2 page-faults)" "$counted"
clock=$("$TOOLS/cells" led.prof | awk -F '\t' '$1 == "cell" && $2 == "cpu-clock" { s += $7; n += $6 } END { print n, s / 1e6 }')
expect_equal "samples of the clock" "${clock% *}" 0
expect_between "clock between page faults, ms" "${clock#* }" 20 2000
