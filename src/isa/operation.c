#include "isa/operation.h"

#include <string.h>

void operation_read(enum isa isa, struct span code, uint64_t vaddr, struct operation *out)
{
	*out = (struct operation){ .to = OPERATION_NO_REGISTER,
				   .from = OPERATION_NO_REGISTER,
				   .other = OPERATION_NO_REGISTER,
				   .memory = { OPERATION_NO_REGISTER, OPERATION_NO_REGISTER, 1,
					       0 } };
	if (isa == ISA_X86_64 || isa == ISA_I386) {
		operation_read_x86(isa == ISA_X86_64, code, vaddr, out);
	} else if (isa == ISA_AARCH64 && code.size == 4) {
		uint32_t word;
		memcpy(&word, code.data, sizeof(word));
		operation_read_aarch64(word, vaddr, out);
	} else {
		out->writes = UINT64_MAX;
	}
}

bool operation_is_frame(enum isa isa, uint8_t reg)
{
	if (isa == ISA_AARCH64)
		return reg == 31 || reg == 29;
	return reg == 4 || reg == 5; /* rsp, rbp */
}
