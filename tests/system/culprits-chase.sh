# Each load needs the one before it, all over memory.
# beside others
. "$SOURCE/tests/stalls.sh"
expect_slowed chase
# A part of the wait may count for the addition ahead: of a round of four instructions a quarter at least
# remains, however samples are spread over the two.
where=mov least=0.3
if is_sampled_at mov chase stall_chase; then
	where='mov|add' least=0.25
fi
expect_summary chase stall_chase causes='dcache_miss dtlb_miss operand_chain' at="$where" least=$least \
	never="$FITS branch_mispredict write_buffer multiplier_busy divider_busy synchronisation"
# What it does not wait for in its control takes no part of that which is sure.
expect_summary chase-control stall_chase unproven='dcache_miss dtlb_miss' never=branch_mispredict
