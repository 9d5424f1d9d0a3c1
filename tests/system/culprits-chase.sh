# Each load needs the one before it, all over memory.
# beside others
. "$SOURCE/tests/stalls.sh"
expect_slowed chase
where=mov least=0.3
if awk -v share="$(share_at mov chase stall_chase)" 'BEGIN { exit share < 0.1 }'; then
	where='mov|add' least=0.2
fi
expect_summary chase stall_chase causes='dcache_miss dtlb_miss operand_chain' at="$where" least=$least \
	never="$FITS branch_mispredict write_buffer multiplier_busy divider_busy synchronisation"
# What it does not wait for in its control takes no part of that which is sure.
expect_summary chase-control stall_chase unproven='dcache_miss dtlb_miss' never=branch_mispredict
