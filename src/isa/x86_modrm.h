/*
 * x86_modrm - the ModRM byte of an instruction, which says where its operands are (Intel SDM
 * volume 2, 2.1.3 and appendix A).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

enum x86_map { X86_ONE_BYTE, X86_MAP_0F, X86_MAP_0F38, X86_MAP_0F3A };

/* Whether a ModRM byte follows an opcode that has no VEX, EVEX or XOP prefix. Either where there is
 * no such opcode. */
bool x86_takes_modrm(enum x86_map map, uint8_t opcode);
/*
 * Length of the byte at `at` with the SIB byte and displacement that belong to it, in 32- and
 * 64-bit addressing (table 2-2); 0 when `code` ends before it is known.
 */
size_t x86_modrm_length(struct span code, size_t at);
