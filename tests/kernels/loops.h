/*
 * loops - loops whose instruction counts are known to the last one: written in
 * assembly, so no compiler changes them. loop_4 runs 4 instructions a turn,
 * loop_8 runs 8; both run the return once more. Equal turns therefore split
 * instructions 1:2 between them.
 */
#pragma once

#include <stdint.h>

#define LOOP_4_INSTRUCTIONS 4
#define LOOP_8_INSTRUCTIONS 8

void loop_4(uint64_t turns); /* turns > 0 */
void loop_8(uint64_t turns);
extern const char loop_4_end[], loop_8_end[]; /* the byte after each */
