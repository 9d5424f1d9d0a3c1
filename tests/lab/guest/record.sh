# Two loops of length 1:2, recorded: as many samples as were due, where they
# belong, and a CPI of 2^icount.
# boots: exact exact-6.12 double
. "$LIB"
period=$((100000 << LAB_ICOUNT))
cell_of() { # PROCEDURE EVENT: samples and estimate
	awk -F '\t' -v procedure="$1" -v event="$2" '$1 == "cell" && $2 == event && $10 == procedure {
		samples += $6; estimate += $7
	} END { print samples + 0, estimate + 0 }' cells
}
check() { # PROCEDURE SAMPLES INSTRUCTIONS
	set -- "$1" "$2" "$3" $(cell_of "$1" cycles)
	expect_equal "samples in $1" "$4" "$2"
	expect_between "cycles in $1" "$5" $((99 * ($3 << LAB_ICOUNT) / 100)) $((101 * ($3 << LAB_ICOUNT) / 100))
}

culprit record -u -e cycles -c $period -o cycles.prof -- "$KERNELS/two_loops"
"$TOOLS/cells" cycles.prof >cells
check loop_4 200 20000000
check loop_8 400 40000000

# A group is inherited by children from 6.12 on; before, whole CPUs are watched for them.
culprit record -u -e '{cycles,instructions}' -c $period -o group.prof -- "$KERNELS/two_loops"
"$TOOLS/cells" group.prof >cells
for loop in loop_4 loop_8; do
	set -- $(cell_of $loop cycles) $(cell_of $loop instructions)
	echo "$loop: $1 samples, $2 cycles, $4 instructions"
	# The leader's count of a CPU is shared among its samples: a period or two that end in the
	# kernel, where no sample may be taken, are spread over the loop's 200. Or one falls just
	# behind the loop, with less than its share left here.
	expect_between "CPI of $loop" "$(awk "BEGIN { print $2 / $4 }")" \
		"$(awk "BEGIN { print 0.999 * $((1 << LAB_ICOUNT)) }")" \
		"$(awk "BEGIN { print 1.02 * $((1 << LAB_ICOUNT)) }")"
done

# The same where another event leads, as slots do in the groups of TopDown.
culprit record -u -e '{instructions,cycles:S}' -c $period -o marked.prof -- "$KERNELS/two_loops"
"$TOOLS/cells" marked.prof >cells
for loop in loop_4 loop_8; do
	set -- $(cell_of $loop cycles:S) $(cell_of $loop instructions)
	echo "$loop: $1 samples, $2 cycles, $4 instructions read"
	expect_equal "samples of the leader in $loop" "$3" 0
	expect_between "samples in $loop" "$1" $((50 * ${loop#loop_} - 2)) $((50 * ${loop#loop_} + 2))
	expect_between "CPI of $loop, whoever leads" "$(awk "BEGIN { print $2 / $4 }")" \
		"$(awk "BEGIN { print 0.999 * $((1 << LAB_ICOUNT)) }")" \
		"$(awk "BEGIN { print 1.02 * $((1 << LAB_ICOUNT)) }")"
done

# Counted in the kernel, both are sampled, on whole CPUs. An overflow of the emulated counter of
# instructions may be seen at the next exception only, in the kernel's code or another process, by this engine
# and by rings alike: some samples in a hundred are missing in the loops.
culprit record -u --engine bpf -e cycles -e instructions -c $((4 * period)) -o counted.prof -- "$KERNELS/two_loops"
"$TOOLS/cells" counted.prof >cells
all=0
for loop in loop_4 loop_8; do
	set -- $(cell_of $loop cycles) $(cell_of $loop instructions)
	echo "$loop, counted in the kernel: $1 samples, $2 cycles, $3 samples, $4 instructions"
	expect_between "samples of cycles in $loop" "$1" $((25 * ${loop#loop_} / 2 - 1)) $((25 * ${loop#loop_} / 2 + 1))
	expect_between "cycles of $loop, counted in the kernel" "$2" $((97 * 50000 * ${loop#loop_} << LAB_ICOUNT)) \
		$((103 * 50000 * ${loop#loop_} << LAB_ICOUNT))
	all=$((all + $4))
done
expect_between "instructions of both, counted in the kernel" $all 54000000 61200000

# Stacks beside that are samples of their own, of a second counter: a quarter as many, for the same cycles.
culprit record -u --engine bpf -g -e cycles -c $period -o apart.prof -- "$KERNELS/two_loops"
"$TOOLS/cells" apart.prof >cells
culprit export apart.prof >folded
for loop in loop_4 loop_8; do
	set -- $(cell_of $loop cycles)
	stacks=$(awk -v end=";$loop" '/;main;/ { n = $NF; sub(/ [0-9]+$/, ""); if (substr($0, length($0) - length(end) + 1) == end) sum += n } END { print sum + 0 }' folded)
	echo "$loop: $2 cycles counted, $stacks by stacks"
	expect_between "cycles of $loop beside its stacks" "$2" $((97 * 50000 * ${loop#loop_} << LAB_ICOUNT)) \
		$((103 * 50000 * ${loop#loop_} << LAB_ICOUNT))
	expect_between "cycles by stacks of $loop below main, in percent of those counted" $((100 * stacks / $2)) 80 120
done
expect_between "samples apart" "$(bill apart.prof apart_stored)" 100 240
expect_equal "samples apart that were lost" "$(bill apart.prof 'apart_lost.*')" 0

# Without -e a running process is sampled too: by the group where this kernel can, else by cycles alone.
"$KERNELS/busy" split 60 &
pid=$!
trap 'kill $pid 2>/dev/null || true' EXIT
culprit record -u -F 200 -p $pid --duration 1s -o default.prof 2>said
expect_between "samples of a running process" "$(samples default.prof 2 cycles 11 busy)" 20 1000
if grep -q "'cycles' is sampled alone" said; then
	echo "$(uname -r): cycles alone"
else
	expect_between "its instructions" "$(estimate default.prof 2 instructions 11 busy)" 1 1e15
fi
