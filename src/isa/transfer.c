#include "isa/transfer.h"

#include <string.h>

void transfer_read(enum isa isa, struct span code, uint64_t vaddr, struct transfer *out)
{
	*out = (struct transfer){ .to = TRANSFER_NO_REGISTER,
				  .from = TRANSFER_NO_REGISTER,
				  .other = TRANSFER_NO_REGISTER,
				  .memory = { TRANSFER_NO_REGISTER, TRANSFER_NO_REGISTER, 1, 0 } };
	if (isa == ISA_X86_64 || isa == ISA_I386) {
		transfer_read_x86(isa == ISA_X86_64, code, vaddr, out);
	} else if (isa == ISA_AARCH64 && code.size == 4) {
		uint32_t word;
		memcpy(&word, code.data, sizeof(word));
		transfer_read_aarch64(word, vaddr, out);
	} else {
		out->writes = UINT64_MAX;
	}
}

bool transfer_is_frame(enum isa isa, uint8_t reg)
{
	if (isa == ISA_AARCH64)
		return reg == 31 || reg == 29;
	return reg == 4 || reg == 5; /* rsp, rbp */
}
