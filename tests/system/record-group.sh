# A group: the leader samples, its members are read with it; what they counted adds up.
# beside others
. "$SOURCE/tests/lib.sh"
need_cpu_sampling
need_command jq
culprit record --quiet -F 2000 -e '{cpu-clock,page-faults}' -- "$KERNELS/busy" execs 50 4
"$TOOLS/cells" culprit.prof >cells
faults=$(awk -F '\t' '$1 == "cell" && $2 == "page-faults" { sum += $7; samples += $6 } END { print sum, samples + 0 }' cells)
expect_equal "samples of a member" "${faults#* }" 0
# some 85 faults for each process that begins
expect_between "page faults of the command" "${faults% *}" 2000 20000

# The same with the member sampled and the leader read, as slots are: no sample is the leader's, and
# the page faults are as many.
culprit record --quiet -F 2000 -e '{cpu-clock,page-faults:S}' -o marked.prof -- "$KERNELS/busy" execs 50 4
"$TOOLS/cells" marked.prof >cells
sums() { awk -F '\t' -v event="$1" '$1 == "cell" && $2 == event { sum += $7; samples += $6 } END { print sum + 0, samples + 0 }' cells; }
clock=$(sums cpu-clock)
faults=$(sums page-faults:S)
expect_equal "samples of a leader that is not sampled" "${clock#* }" 0
expect_between "time that was read with samples" "${clock% *}" 1 1e12
expect_between "samples of the marked member" "${faults#* }" 50 20000
expect_between "page faults of the command, by their own samples" "${faults% *}" 2000 20000
culprit report --json marked.prof | jq -r '.events[] | "\(.name) \(.sampled) \(.leader)"' >events
expect_equal "who reads whom" "$(cat events)" "cpu-clock false page-faults:S
page-faults:S true null"

# Several events that are independent share the rings.
culprit record --quiet -c 10 -e page-faults -e context-switches:k -o several.prof -- "$KERNELS/busy" execs 50 4
expect_between "samples of page faults" "$(samples several.prof 2 page-faults)" 200 2000
counted=$("$TOOLS/cells" several.prof | awk -F '\t' '$1 == "bill" && $2 == "page-faults" && $4 == "count" { s += $5 } END { print s }')
estimate=$("$TOOLS/cells" several.prof | awk -F '\t' '$1 == "cell" && $2 == "page-faults" { s += $7 } END { print s }')
expect_between "estimate beside what was counted" "$(ratio "$estimate" "$counted")" 0.9 1.001
