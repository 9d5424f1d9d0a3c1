# A group: the leader samples, its members are read with it; what they counted adds up.
# beside others
. "$SOURCE/tests/lib.sh"
need_cpu_sampling
culprit record --quiet -F 2000 -e '{cpu-clock,page-faults}' -- "$KERNELS/busy" execs 50 4
"$TOOLS/cells" culprit.prof >cells
faults=$(awk -F '\t' '$1 == "cell" && $2 == "page-faults" { sum += $7; samples += $6 } END { print sum, samples + 0 }' cells)
expect_equal "samples of a member" "${faults#* }" 0
# some 85 faults for each process that begins
expect_between "page faults of the command" "${faults% *}" 2000 20000

# Several events that are independent share the rings.
culprit record --quiet -c 50 -e page-faults -e context-switches:k -o several.prof -- "$KERNELS/busy" execs 50 4
expect_between "samples of page faults" "$(samples several.prof 2 page-faults)" 40 400
counted=$("$TOOLS/cells" several.prof | awk -F '\t' '$1 == "bill" && $2 == "page-faults" && $4 == "count" { s += $5 } END { print s }')
estimate=$("$TOOLS/cells" several.prof | awk -F '\t' '$1 == "cell" && $2 == "page-faults" { s += $7 } END { print s }')
expect_between "estimate beside what was counted" "$(ratio "$estimate" "$counted")" 0.9 1.001
