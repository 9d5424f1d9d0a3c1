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
