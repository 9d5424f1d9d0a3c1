/*
 * frame_program - runs the instructions of call frame information (DWARF 5, section 6.4.2) and says
 * from which address on which rule holds. Of a frame's registers it follows those that a
 * frame_rule has.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"
#include "image/frame_entries.h"
#include "unwind/frame_rule.h"

/* Where a register of the caller is. */
enum frame_saved_how {
	FRAME_SAVED_SAME,
	FRAME_SAVED_AT_CFA,   /* at the frame's address + offset */
	FRAME_SAVED_AT_FRAME, /* at frame pointer + offset */
	FRAME_SAVED_NOWHERE,  /* it has no value: of a return address, the outermost frame */
	FRAME_SAVED_IN,	      /* in the register `offset` */
	FRAME_SAVED_OTHERWISE,
};

struct frame_saved {
	enum frame_saved_how how;
	int64_t offset;
};

/* What holds at an instruction. */
struct frame_state {
	struct frame_saved pointer, link, base; /* frame pointer, return address, rbx */
	uint64_t cfa_register;
	int64_t cfa_offset;
	struct span cfa_expression; /* in place of the two; size 0: none */
};

struct frame_machine {
	uint16_t machine;	      /* EM_X86_64 or EM_AARCH64 */
	uint8_t stack, pointer, base; /* DWARF's numbers; base: UINT8_MAX where there is none */
};

/* NULL: of no other machine are there rules. */
const struct frame_machine *frame_machine_of(uint16_t machine);

/* The state at the first byte of entries of that kind. False: its instructions are not understood,
 * or longer than any that compilers write. */
bool frame_program_begin(const struct frame_machine *machine, const struct frame_common *common,
			 struct frame_state *initial);
/*
 * Calls add(context, address, rule) for the start of the entry and each address in it where another
 * rule may begin, in order. 0, or what add() returned other than 0; 1 where an instruction is not
 * understood: nothing is known from the last address on.
 */
int frame_program_run(const struct frame_machine *machine, const struct frame_common *common,
		      const struct frame_state *initial, const struct frame_entry *entry,
		      int (*add)(void *context, uint64_t address, frame_rule rule), void *context);
