# Locked additions to one line, which another thread wants too.
# beside others
. "$SOURCE/tests/stalls.sh"
expect_slowed atomic
expect_summary atomic stall_atomic causes=synchronisation at=lock least=0.3 \
	never="$FITS branch_mispredict dcache_miss dtlb_miss multiplier_busy divider_busy"
# What it does not wait for in its control takes no part of that which is sure. That nobody else
# writes to the line samples do not tell.
expect_summary atomic-control control_atomic unproven=synchronisation \
	never="$FITS dcache_miss dtlb_miss write_buffer"
