/*
 * isa - the instruction sets whose code is read.
 */
#pragma once

enum isa {
	ISA_UNKNOWN,
	ISA_X86_64,
	ISA_I386,
	ISA_AARCH64,
};
