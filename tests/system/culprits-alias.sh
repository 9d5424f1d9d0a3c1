# Loads whose address is 4096 bytes from a store just before them. Each access finds its line in the
# first cache: some CPUs let the load wait for the store, which it does not need. Samples do not tell
# that from a miss, so a miss may be listed, but nothing is surely one.
# beside others
. "$SOURCE/tests/stalls.sh"
expect_slowed alias
expect_summary alias stall_alias unproven='dcache_miss dtlb_miss write_buffer' \
	never="$FITS branch_mispredict multiplier_busy divider_busy synchronisation"
# What it does not wait for in its control takes no part of that which is sure.
expect_summary alias-control stall_alias most=0.1 never="$FITS branch_mispredict"
