# Each load needs the one before it, all over memory.
# beside others
. "$SOURCE/tests/stalls.sh"
expect_slowed chase
expect_summary chase stall_chase causes='dcache_miss dtlb_miss operand_chain' at=mov least=0.3 \
	never="$FITS branch_mispredict write_buffer multiplier_busy divider_busy synchronisation"
# What it does not wait for in its control takes no part of that which is sure.
expect_summary chase-control stall_chase unproven='dcache_miss dtlb_miss' never=branch_mispredict
