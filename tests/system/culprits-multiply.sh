# A chain of products through a multiplier that takes another each cycle: it is not busy.
# beside others
. "$SOURCE/tests/stalls.sh"
expect_slowed multiply
# Each round waits two cycles of three for its product; a part of it may count for the jump ahead.
where=imul least=0.3
if is_sampled_at imul multiply stall_multiply; then
	where='imul|jne' least=0.2
fi
expect_summary multiply stall_multiply causes=operand_chain at="$where" least=$least \
	never="$FITS branch_mispredict dcache_miss dtlb_miss write_buffer multiplier_busy divider_busy"
# What it does not wait for in its control takes no part of that which is sure.
expect_summary multiply-control control_multiply most=0.1 never="$FITS multiplier_busy dcache_miss"
