# A chain of products through a multiplier that takes another each cycle: it is not busy.
# beside others
. "$SOURCE/tests/stalls.sh"
expect_slowed multiply
# Each round waits two cycles of three for its product. Where interrupts come before the instruction
# that waits as often as behind it (Ice Lake), half of them count for the jump ahead of it.
expect_summary multiply stall_multiply causes=operand_chain at='imul|jne' least=0.2 \
	never="$FITS branch_mispredict dcache_miss dtlb_miss write_buffer multiplier_busy divider_busy"
# What it does not wait for in its control takes no part of that which is sure.
expect_summary multiply-control control_multiply most=0.1 never="$FITS multiplier_busy dcache_miss"
