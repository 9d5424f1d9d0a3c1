# Programs that nothing holds up: no stall is shown, and what cannot be is not listed.
# beside others
. "$SOURCE/tests/stalls.sh"
for kernel in adds sums nops; do
	record $kernel
	expect_summary $kernel clean_$kernel most=0.1 \
		never="branch_mispredict dcache_miss dtlb_miss write_buffer operand_chain synchronisation"
done
# The same places in each round: its lines miss when it begins alone.
record place
expect_summary place clean_place most=0.3 \
	never="$FITS branch_mispredict dcache_miss dtlb_miss write_buffer multiplier_busy"
