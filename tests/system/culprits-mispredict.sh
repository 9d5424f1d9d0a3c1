# Branches that go by random bits, which a chain of shifts and sums makes.
# beside others
. "$SOURCE/tests/stalls.sh"
expect_slowed mispredict
expect_summary mispredict stall_mispredict causes='branch_mispredict operand_chain' \
	never="$FITS dcache_miss dtlb_miss write_buffer multiplier_busy divider_busy synchronisation"
# What it does not wait for in its control takes no part of that which is sure.
expect_summary mispredict-control stall_mispredict unproven=branch_mispredict never="$FITS dcache_miss"
