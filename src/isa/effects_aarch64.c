#include "isa/decode_private.h"
void aarch64_effects(uint32_t word, bool decoded, struct instruction_effects *effects)
{
	(void)word;
	(void)decoded;
	(void)effects;
}
