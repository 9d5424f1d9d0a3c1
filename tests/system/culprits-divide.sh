# A chain of divisions.
# beside others
. "$SOURCE/tests/stalls.sh"
expect_slowed divide
expect_summary divide stall_divide causes=divider_busy at=div least=0.3 \
	never="$FITS branch_mispredict dcache_miss dtlb_miss write_buffer multiplier_busy synchronisation"
# What it does not wait for in its control takes no part of that which is sure.
expect_summary divide-control control_divide never="$FITS divider_busy dcache_miss"
