#include "unwind/frame_program.h"

#include <elf.h>
#include <string.h>

#include "base/cursor.h"
#include "image/frame_pointer.h"

#define REMEMBERED_MOST 16  /* states on the stack of DW_CFA_remember_state */
#define COMMON_LONGEST	256 /* bytes of a CIE's instructions */
#define X86_64_RDI	5
#define NO_REGISTER	UINT64_MAX
#define LINKAGE_BYTES	16

/* Instructions (DWARF 5, section 7.24). The first three have an operand in their lower 6 bits. */
enum {
	CFA_ADVANCE_LOC = 0x40,
	CFA_OFFSET = 0x80,
	CFA_RESTORE = 0xc0,
	CFA_NOP = 0x00,
	CFA_SET_LOC = 0x01,
	CFA_ADVANCE_LOC1 = 0x02,
	CFA_ADVANCE_LOC2 = 0x03,
	CFA_ADVANCE_LOC4 = 0x04,
	CFA_OFFSET_EXTENDED = 0x05,
	CFA_RESTORE_EXTENDED = 0x06,
	CFA_UNDEFINED = 0x07,
	CFA_SAME_VALUE = 0x08,
	CFA_REGISTER = 0x09,
	CFA_REMEMBER_STATE = 0x0a,
	CFA_RESTORE_STATE = 0x0b,
	CFA_DEF_CFA = 0x0c,
	CFA_DEF_CFA_REGISTER = 0x0d,
	CFA_DEF_CFA_OFFSET = 0x0e,
	CFA_DEF_CFA_EXPRESSION = 0x0f,
	CFA_EXPRESSION = 0x10,
	CFA_OFFSET_EXTENDED_SF = 0x11,
	CFA_DEF_CFA_SF = 0x12,
	CFA_DEF_CFA_OFFSET_SF = 0x13,
	CFA_VAL_OFFSET = 0x14,
	CFA_VAL_OFFSET_SF = 0x15,
	CFA_VAL_EXPRESSION = 0x16,
	CFA_NEGATE_RA_STATE = 0x2d, /* AArch64: return addresses are signed from here on, or not */
	CFA_GNU_ARGS_SIZE = 0x2e,
	CFA_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
};

enum { /* of expressions (DWARF 5, section 7.7.1) */
       OP_DEREF = 0x06,
       OP_BREG0 = 0x70,
};

struct run {
	const struct frame_machine *machine;
	const struct frame_common *common;
	const struct frame_state *initial; /* NULL: of a CIE, which has nothing to restore */
	struct frame_state state;
	struct frame_state remembered[REMEMBERED_MOST];
	unsigned depth;
	uint64_t address, end;
	int (*add)(void *context, uint64_t address, frame_rule rule);
	void *context;
};

const struct frame_machine *frame_machine_of(uint16_t machine)
{
	static const struct frame_machine machines[] = {
		{ EM_X86_64, 7, 6, 3 },
		{ EM_AARCH64, 31, 29, UINT8_MAX },
	};
	for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++)
		if (machines[i].machine == machine)
			return &machines[i];
	return NULL;
}

/* ---- from a state to a rule */

/* The expression of the entries that linkers write for a procedure linkage table: rsp + 8, and 8
 * more where (rip & 15) >= n. Stores n. */
static bool is_linkage_table(struct span expression, int64_t *from)
{
	static const uint8_t front[] = { 0x77, 8, 0x80, 0, 0x3f, 0x1a };
	static const uint8_t back[] = { 0x2a, 0x33, 0x24, 0x22 };
	const uint8_t *bytes = expression.data;
	if (expression.size != sizeof(front) + 1 + sizeof(back) ||
	    memcmp(bytes, front, sizeof(front)) != 0 ||
	    memcmp(bytes + sizeof(front) + 1, back, sizeof(back)) != 0)
		return false;
	*from = bytes[sizeof(front)] - 0x30; /* DW_OP_lit0 */
	return *from >= 0 && *from < 16;
}

/* An expression of a register and an offset, and perhaps a load from there. */
static bool read_simple(struct span expression, uint8_t *of, int64_t *offset, bool *loaded)
{
	struct cursor cursor = cursor_of(expression.data, expression.size);
	uint8_t operation = cursor_u8(&cursor);
	*offset = frame_sleb128(&cursor);
	*of = (uint8_t)(operation - OP_BREG0);
	*loaded = cursor_left(&cursor) == 1 && cursor_u8(&cursor) == OP_DEREF;
	return !cursor.failed && cursor_left(&cursor) == 0 && operation >= OP_BREG0 &&
	       operation < OP_BREG0 + 32;
}

static const frame_rule bad_rule = FRAME_CFA_BAD;

/* Stores how the frame's address is found and from which offset; false: not in one of our ways. */
static bool find_cfa(const struct run *run, enum frame_cfa *cfa, int64_t *offset)
{
	const struct frame_machine *machine = run->machine;
	const struct frame_state *state = &run->state;
	uint8_t of;
	bool loaded;
	*offset = state->cfa_offset;
	if (state->cfa_expression.size == 0) {
		*cfa = state->cfa_register == machine->stack	 ? FRAME_CFA_STACK
		       : state->cfa_register == machine->pointer ? FRAME_CFA_FRAME
								 : FRAME_CFA_OTHER;
		if (*cfa != FRAME_CFA_OTHER)
			return true;
		if (state->cfa_register > INT8_MAX || *offset > FRAME_OTHER_MOST ||
		    *offset < -FRAME_OTHER_MOST)
			return false;
		*offset = (*offset & 0xffffff) | (int64_t)state->cfa_register << 24;
		return true;
	}
	*cfa = FRAME_CFA_PLT;
	if (machine->machine == EM_X86_64 && is_linkage_table(state->cfa_expression, offset))
		return true;
	if (!read_simple(state->cfa_expression, &of, offset, &loaded) || !loaded)
		return false;
	*cfa = of == machine->pointer ? FRAME_CFA_LOADED : FRAME_CFA_SIGNAL;
	return of == machine->pointer || (of == machine->stack && run->common->signal);
}

/* Stores in how many words below the frame's address a register is saved, 0: it has not changed.
 * False: it is elsewhere, or further away than `most`. */
static bool find_words(const struct frame_saved *saved, unsigned most, unsigned *words)
{
	*words = 0;
	if (saved->how == FRAME_SAVED_SAME)
		return true;
	if (saved->how != FRAME_SAVED_AT_CFA || saved->offset >= 0 || saved->offset % 8 ||
	    saved->offset < -8 * (int64_t)most)
		return false;
	*words = (unsigned)(-saved->offset / 8);
	return true;
}

static bool find_slot_aarch64(const struct frame_state *state, unsigned *slot)
{
	const struct frame_saved *pointer = &state->pointer;
	const struct frame_saved *link = &state->link;
	*slot = FRAME_SLOT_PAIR;
	if (pointer->how == FRAME_SAVED_AT_CFA && link->how == FRAME_SAVED_AT_CFA &&
	    pointer->offset == (int16_t)pointer->offset && link->offset == pointer->offset + 8)
		return true;
	unsigned words;
	if (!find_words(link, FRAME_SLOT_MOST - FRAME_SLOT_PAIR, &words))
		return false;
	*slot = words ? words + FRAME_SLOT_PAIR : 0;
	return true;
}

/* Of x86-64 the slot of rbx, for which a rule may do without. */
static bool find_slot_x86(const struct frame_state *state, unsigned *slot)
{
	if (!find_words(&state->base, FRAME_SLOT_MOST, slot))
		*slot = 0;
	return state->link.how == FRAME_SAVED_AT_CFA && state->link.offset == -8;
}

/* The GNU C library's _dl_runtime_resolve of AArch64, which a procedure linkage table has put two
 * words on the stack for: its entry counts from these, so that the return address is above the
 * frame's address and the caller's stack pointer is not that. */
static bool is_called_by_linkage_table(const struct frame_state *state)
{
	return state->link.how == FRAME_SAVED_AT_CFA && state->link.offset == 8 &&
	       state->pointer.how == FRAME_SAVED_SAME;
}

static frame_rule rule_of(const struct run *run)
{
	const struct frame_state *state = &run->state;
	const struct frame_saved *saved = &state->pointer;
	bool x86 = run->machine->machine == EM_X86_64;
	enum frame_pointer_place pointer = FRAME_POINTER_LOST;
	enum frame_cfa cfa;
	int64_t offset;
	unsigned slot;
	if (state->link.how == FRAME_SAVED_NOWHERE)
		return frame_rule_of(FRAME_CFA_END, FRAME_POINTER_LOST, 0, 0, 0);
	if (!find_cfa(run, &cfa, &offset) || offset != (int32_t)offset)
		return bad_rule;
	if (cfa == FRAME_CFA_SIGNAL)
		return frame_rule_of(cfa, FRAME_POINTER_LOST, 0, 0, (int32_t)offset);
	if (x86 && state->link.how == FRAME_SAVED_IN && state->link.offset == X86_64_RDI &&
	    cfa == FRAME_CFA_STACK)
		return frame_rule_of(FRAME_CFA_LINKED, FRAME_POINTER_SAME, 0, 0, (int32_t)offset);
	if (!x86 && is_called_by_linkage_table(state) && cfa == FRAME_CFA_STACK)
		return frame_rule_of(cfa, FRAME_POINTER_SAME, FRAME_SLOT_PAIR + 1, 0,
				     (int32_t)offset + LINKAGE_BYTES);
	if (!(x86 ? find_slot_x86(state, &slot) : find_slot_aarch64(state, &slot)))
		return bad_rule;
	bool near = saved->offset == (int16_t)saved->offset;
	if (saved->how == FRAME_SAVED_SAME)
		pointer = FRAME_POINTER_SAME;
	else if (saved->how == FRAME_SAVED_AT_CFA && near)
		pointer = FRAME_POINTER_AT_CFA;
	else if (saved->how == FRAME_SAVED_AT_FRAME && near)
		pointer = FRAME_POINTER_AT_FRAME;
	int16_t at = pointer == FRAME_POINTER_AT_CFA || pointer == FRAME_POINTER_AT_FRAME
			     ? (int16_t)saved->offset
			     : 0;
	return frame_rule_of(cfa, pointer, slot, at, (int32_t)offset);
}

/* ---- instructions */

static struct frame_saved *saved_of(struct run *run, struct frame_state *state, uint64_t number)
{
	if (number == run->machine->pointer)
		return &state->pointer;
	if (number == run->common->return_register)
		return &state->link;
	return number == run->machine->base ? &state->base : NULL;
}

static void set(struct run *run, uint64_t number, enum frame_saved_how how, int64_t offset)
{
	struct frame_saved *saved = saved_of(run, &run->state, number);
	if (saved)
		*saved = (struct frame_saved){ how, offset };
}

static bool restore(struct run *run, uint64_t number)
{
	struct frame_state initial;
	if (!run->initial)
		return false;
	initial = *run->initial;
	const struct frame_saved *from = saved_of(run, &initial, number);
	struct frame_saved *to = saved_of(run, &run->state, number);
	if (to)
		*to = *from;
	return true;
}

static int64_t scaled(const struct run *run, int64_t factor)
{
	return (int64_t)((uint64_t)factor * (uint64_t)run->common->data_align);
}

/* A register whose place or value is an expression. */
static void set_expression(struct run *run, uint64_t number, struct span expression, bool value)
{
	uint8_t of;
	int64_t offset;
	bool loaded;
	bool at_frame = !value && read_simple(expression, &of, &offset, &loaded) && !loaded &&
			of == run->machine->pointer;
	set(run, number, at_frame ? FRAME_SAVED_AT_FRAME : FRAME_SAVED_OTHERWISE,
	    at_frame ? offset : 0);
}

/* Adds what holds up to here. 0, or another number that ends the run. */
static int advance(struct run *run, uint64_t factor)
{
	uint64_t step;
	int ret = run->add ? run->add(run->context, run->address, rule_of(run)) : 0;
	if (__builtin_mul_overflow(factor, run->common->code_align, &step) ||
	    step > run->end - run->address)
		step = run->end - run->address;
	run->address += step;
	return ret;
}

static void define_cfa(struct run *run, uint64_t number, int64_t offset)
{
	run->state.cfa_register = number;
	run->state.cfa_offset = offset;
	run->state.cfa_expression = (struct span){ NULL, 0 };
}

static struct span take_block(struct cursor *cursor)
{
	uint64_t size = cursor_varint(cursor);
	const void *bytes = cursor_take(cursor, size);
	return (struct span){ bytes, bytes ? size : 0 };
}

/* The instructions about the frame's address. 1: it is none of them. */
static int run_cfa(struct run *run, uint8_t operation, struct cursor *cursor)
{
	uint64_t number;
	switch (operation) {
	case CFA_DEF_CFA:
		number = cursor_varint(cursor);
		define_cfa(run, number, (int64_t)cursor_varint(cursor));
		return 0;
	case CFA_DEF_CFA_SF:
		number = cursor_varint(cursor);
		define_cfa(run, number, scaled(run, frame_sleb128(cursor)));
		return 0;
	case CFA_DEF_CFA_REGISTER:
		define_cfa(run, cursor_varint(cursor), run->state.cfa_offset);
		return 0;
	case CFA_DEF_CFA_OFFSET:
		run->state.cfa_offset = (int64_t)cursor_varint(cursor);
		return 0;
	case CFA_DEF_CFA_OFFSET_SF:
		run->state.cfa_offset = scaled(run, frame_sleb128(cursor));
		return 0;
	case CFA_DEF_CFA_EXPRESSION:
		run->state.cfa_expression = take_block(cursor);
		/* An empty one says nothing, and must not count as none. */
		if (!run->state.cfa_expression.size)
			define_cfa(run, NO_REGISTER, 0);
		return 0;
	default:
		return 1;
	}
}

/* The instructions about a register. 1: it is none of them, or cannot be done. */
static int run_register(struct run *run, uint8_t operation, struct cursor *cursor)
{
	uint64_t number = cursor_varint(cursor);
	switch (operation) {
	case CFA_OFFSET_EXTENDED:
		set(run, number, FRAME_SAVED_AT_CFA, scaled(run, (int64_t)cursor_varint(cursor)));
		return 0;
	case CFA_OFFSET_EXTENDED_SF:
		set(run, number, FRAME_SAVED_AT_CFA, scaled(run, frame_sleb128(cursor)));
		return 0;
	case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
		set(run, number, FRAME_SAVED_AT_CFA,
		    scaled(run, (int64_t)(0 - cursor_varint(cursor))));
		return 0;
	case CFA_RESTORE_EXTENDED:
		return restore(run, number) ? 0 : 1;
	case CFA_UNDEFINED:
		set(run, number, FRAME_SAVED_NOWHERE, 0);
		return 0;
	case CFA_SAME_VALUE:
		set(run, number, FRAME_SAVED_SAME, 0);
		return 0;
	case CFA_REGISTER:
		set(run, number, FRAME_SAVED_IN, (int64_t)cursor_varint(cursor));
		return 0;
	case CFA_VAL_OFFSET:
	case CFA_VAL_OFFSET_SF:
		cursor_varint(cursor);
		set(run, number, FRAME_SAVED_OTHERWISE, 0);
		return 0;
	case CFA_EXPRESSION:
	case CFA_VAL_EXPRESSION:
		set_expression(run, number, take_block(cursor), operation == CFA_VAL_EXPRESSION);
		return 0;
	default:
		return 1;
	}
}

/* One whose operand is not in its first byte. 0; 1: it is not understood; or what add() returned.
 */
static int run_extended(struct run *run, uint8_t operation, struct cursor *cursor)
{
	switch (operation) {
	case CFA_NOP:
	case CFA_NEGATE_RA_STATE:
		return 0;
	case CFA_GNU_ARGS_SIZE:
		cursor_varint(cursor);
		return 0;
	case CFA_ADVANCE_LOC1:
		return advance(run, cursor_u8(cursor));
	case CFA_ADVANCE_LOC2:
		return advance(run, cursor_u16(cursor));
	case CFA_ADVANCE_LOC4:
		return advance(run, cursor_u32(cursor));
	case CFA_REMEMBER_STATE:
		if (run->depth == REMEMBERED_MOST)
			return 1;
		run->remembered[run->depth++] = run->state;
		return 0;
	case CFA_RESTORE_STATE:
		if (run->depth == 0)
			return 1;
		run->state = run->remembered[--run->depth];
		return 0;
	case CFA_SET_LOC: /* in no .eh_frame that a compiler wrote */
		return 1;
	default:
		return run_cfa(run, operation, cursor) == 0 ? 0
							    : run_register(run, operation, cursor);
	}
}

static int run_all(struct run *run, struct span instructions)
{
	struct cursor cursor = cursor_of(instructions.data, instructions.size);
	int ret = 0;
	while (ret == 0 && cursor_left(&cursor)) {
		uint8_t operation = cursor_u8(&cursor);
		uint8_t low = operation & 0x3f;
		switch (operation & 0xc0) {
		case CFA_ADVANCE_LOC:
			ret = advance(run, low);
			break;
		case CFA_OFFSET:
			set(run, low, FRAME_SAVED_AT_CFA,
			    scaled(run, (int64_t)cursor_varint(&cursor)));
			break;
		case CFA_RESTORE:
			ret = restore(run, low) ? 0 : 1;
			break;
		default:
			ret = run_extended(run, operation, &cursor);
		}
		if (cursor.failed)
			ret = 1;
	}
	return ret;
}

/* But for `remembered`, which is large, and read only where it was written. */
static void begin(struct run *run, const struct frame_machine *machine,
		  const struct frame_common *common)
{
	run->machine = machine;
	run->common = common;
	run->initial = NULL;
	run->depth = 0;
	run->address = run->end = 0;
	run->add = NULL;
	run->context = NULL;
}

bool frame_program_begin(const struct frame_machine *machine, const struct frame_common *common,
			 struct frame_state *initial)
{
	struct run run;
	begin(&run, machine, common);
	run.state = (struct frame_state){ .cfa_register = NO_REGISTER };
	if (common->instructions.size > COMMON_LONGEST || run_all(&run, common->instructions) != 0)
		return false;
	*initial = run.state;
	return true;
}

int frame_program_run(const struct frame_machine *machine, const struct frame_common *common,
		      const struct frame_state *initial, const struct frame_entry *entry,
		      int (*add)(void *context, uint64_t address, frame_rule rule), void *context)
{
	struct run run;
	begin(&run, machine, common);
	run.initial = initial;
	run.state = *initial;
	run.address = entry->start;
	run.end = entry->start + entry->size_bytes;
	run.add = add;
	run.context = context;
	int ret = run_all(&run, entry->instructions);
	if (ret == 0 && run.address < run.end)
		ret = add(context, run.address, rule_of(&run));
	return ret;
}
