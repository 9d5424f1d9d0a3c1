# Stores all over memory, to places that a chain of products makes.
# beside others
. "$SOURCE/tests/stalls.sh"
expect_slowed store
expect_summary store stall_store causes='write_buffer operand_chain' at='mov|imul' \
	never="$FITS branch_mispredict dcache_miss multiplier_busy divider_busy synchronisation"
# What it does not wait for in its control takes no part of that which is sure.
expect_summary store-control stall_store unproven=write_buffer never="$FITS branch_mispredict"
