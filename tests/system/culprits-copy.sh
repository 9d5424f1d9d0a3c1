# The loop of DCPI's Figure 2, through memory: the loads bring lines, the stores need them.
. "$SOURCE/tests/stalls.sh"
expect_slowed copy
expect_summary copy stall_copy causes='dcache_miss dtlb_miss write_buffer' at=mov \
	never="$FITS branch_mispredict multiplier_busy divider_busy synchronisation other"
# What it does not wait for in its control takes no part of that which is sure.
expect_summary copy-control stall_copy unproven='dcache_miss write_buffer' most=0.1
