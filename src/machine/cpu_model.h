/*
 * cpu_model - one spelling of a CPU's model, so that profiles of any origin compare:
 * x86 as family-model-stepping in hexadecimal, two digits each or more, as Linux
 * names microcode files ("06-55-04"); Arm as the MIDR_EL1 register ("MIDR 0x410fd0c0").
 */
#pragma once

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>

#define CPU_MODEL_ROOM 64

static inline void cpu_model_of_x86(uint64_t family, uint64_t model, uint64_t stepping,
				    char text[CPU_MODEL_ROOM])
{
	snprintf(text, CPU_MODEL_ROOM, "%02" PRIx64 "-%02" PRIx64 "-%02" PRIx64, family, model,
		 stepping);
}

static inline void cpu_model_of_arm(uint64_t midr, char text[CPU_MODEL_ROOM])
{
	snprintf(text, CPU_MODEL_ROOM, "MIDR 0x%08" PRIx64, midr);
}
