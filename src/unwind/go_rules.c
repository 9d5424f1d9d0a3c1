#include "unwind/go_rules.h"

#include <elf.h>
#include <stdbool.h>
#include <string.h>

#include "base/count_of.h"
#include "image/go_functions.h"

#define PROLOGUE_X86	 64 /* bytes, from where the frame is made on, in which rbp is saved */
#define PROLOGUE_AARCH64 32
#define POINTER_MOST	 32000 /* of the frame pointer's offset in a rule */
#define SUB_X29_SP_8	 0xd10023fdu
#define LDP_X29_X30	 0xa97ffbfdu /* ldp x29,x30,[sp,#-8] */
#define LDUR_X29	 0xf85f83fdu /* ldur x29,[sp,#-8] */

struct making {
	const struct go_functions *functions;
	const struct go_function *function;
	bool x86;
	struct span code;
	int (*add)(void *context, uint64_t address, frame_rule rule);
	void *context;
	/* What a function's first instructions say: */
	uint64_t framed_from;  /* where the frame is made; 0: it has none */
	uint64_t pointed_from; /* where the frame pointer is the frame's; 0: nowhere */
	bool saved;	       /* x86-64: the caller's is at the frame's address + saved_at */
	int16_t saved_at;
	uint64_t switched_from; /* x86-64, of a function without frame: 0: nowhere */
};

/* Where a name is one of a list, which NULL ends. */
static bool is_one_of(struct span name, const char *const *list)
{
	for (; *list; list++)
		if (name.size == strlen(*list) && memcmp(name.data, *list, name.size) == 0)
			return true;
	return false;
}

static bool ends_stacks(const struct go_function *function)
{
	static const char *const names[] = { "runtime.goexit", "runtime.mstart", "runtime.mcall",
					     "runtime.rt0_go", NULL };
	return is_one_of(function->name, names);
}

static bool returns_from_signals(const struct go_function *function)
{
	static const char *const names[] = { "runtime.sigreturn", "runtime.sigreturn__sigaction",
					     NULL };
	return is_one_of(function->name, names);
}

static bool switches(const struct go_function *function)
{
	static const char *const names[] = { "runtime.systemstack", "runtime.asmcgocall",
					     "runtime.morestack",   "runtime.nanotime",
					     "runtime.nanotime1",   "runtime.walltime",
					     "runtime.walltime1",   NULL };
	return function->switches || is_one_of(function->name, names);
}

/* The function's code from `from` on, at most `most` bytes and not beyond `end`. */
static struct span code_at(const struct making *making, uint64_t from, uint64_t end, size_t most)
{
	uint64_t at = from - making->function->start;
	if (at >= making->code.size || end <= from || !most)
		return (struct span){ 0 };
	uint64_t size = making->code.size - at;
	size = size < end - from ? size : end - from;
	return (struct span){ (const uint8_t *)making->code.data + at,
			      size < most ? (size_t)size : most };
}

static bool has_word(const struct making *making, uint64_t address, uint32_t wanted)
{
	struct span code = code_at(making, address, UINT64_MAX, sizeof(wanted));
	return code.size == sizeof(wanted) && memcmp(code.data, &wanted, sizeof(wanted)) == 0;
}

/* ---- x86-64 */

/* mov %rbp,disp(%rsp), lea disp(%rsp),%rbp and mov %rsp,%rbp, in front of the displacement. */
struct instruction {
	uint8_t bytes[4], size, displacement_bytes;
};
static const struct instruction saves[] = { { { 0x48, 0x89, 0x6c, 0x24 }, 4, 1 },
					    { { 0x48, 0x89, 0x2c, 0x24 }, 4, 0 },
					    { { 0x48, 0x89, 0xac, 0x24 }, 4, 4 } };
static const struct instruction points[] = { { { 0x48, 0x89, 0xe5 }, 3, 0 },
					     { { 0x48, 0x8d, 0x6c, 0x24 }, 4, 1 },
					     { { 0x48, 0x8d, 0x2c, 0x24 }, 4, 0 },
					     { { 0x48, 0x8d, 0xac, 0x24 }, 4, 4 } };
#define PUSH_RBP 0x55

/* The first instruction of a kind in the code; *end: how far behind the code's start it ends. NULL:
 * there is none. */
static const struct instruction *find_instruction(struct span code, const struct instruction *kind,
						  size_t count, size_t *end)
{
	const struct instruction *first = NULL;
	*end = 0;
	for (size_t i = 0; i < count && code.size; i++) {
		const uint8_t *found = memmem(code.data, code.size, kind[i].bytes, kind[i].size);
		size_t after = found ? (size_t)(found - (const uint8_t *)code.data) + kind[i].size +
					       kind[i].displacement_bytes
				     : SIZE_MAX;
		if (after > code.size || (first && after >= *end))
			continue;
		first = &kind[i];
		*end = after;
	}
	return first;
}

static void look_for_saving(struct making *making, const struct go_range *range)
{
	uint64_t begun = range->start - making->framed_from;
	struct span code = code_at(making, range->start, range->end,
				   begun < PROLOGUE_X86 ? PROLOGUE_X86 - begun : 0);
	struct span before = code_at(making, range->start - 1, range->start, 1);
	size_t end;
	if (!begun && range->start > making->function->start && before.size &&
	    *(const uint8_t *)before.data == PUSH_RBP) {
		making->saved = true;
		making->saved_at = -16;
		return;
	}
	const struct instruction *found = find_instruction(code, saves, COUNT_OF(saves), &end);
	if (!found)
		return;
	const uint8_t *displacement = (const uint8_t *)code.data + end - found->displacement_bytes;
	int32_t at = 0;
	memcpy(&at, displacement, found->displacement_bytes);
	if (found->displacement_bytes == 1)
		at = (int8_t)at;
	int64_t offset = at - (int64_t)range->depth - 8;
	making->saved = offset <= -16 && offset >= -POINTER_MOST;
	making->saved_at = (int16_t)offset;
}

static uint64_t pointed_x86(const struct making *making, uint64_t end)
{
	struct span code = code_at(making, making->framed_from, end, PROLOGUE_X86);
	size_t after;
	return find_instruction(code, points, COUNT_OF(points), &after)
		       ? making->framed_from + after
		       : 0;
}

/* Behind the first instruction that loads the stack pointer, from a register or memory near one. */
static uint64_t switched_x86(const struct making *making)
{
	const uint8_t *bytes = making->code.data;
	for (size_t i = 0; i + 3 < making->code.size; i++) {
		bool wide = (bytes[i] & 0xfe) == 0x48;
		bool moved = bytes[i + 1] == 0x89 && (bytes[i + 2] & 0xc7) == 0xc4;
		bool loaded = bytes[i + 1] == 0x8b && (bytes[i + 2] & 0xf8) == 0x60;
		if (wide && (moved || loaded))
			return making->function->start + i + (moved ? 3 : 4);
	}
	return 0;
}

static frame_rule rule_x86(const struct making *making, const struct go_range *range)
{
	if (!range->depth)
		return frame_rule_of(FRAME_CFA_STACK, FRAME_POINTER_SAME, 0, 0, 8);
	return frame_rule_of(FRAME_CFA_STACK,
			     making->saved ? FRAME_POINTER_AT_CFA : FRAME_POINTER_LOST, 0,
			     making->saved ? making->saved_at : 0, (int32_t)range->depth + 8);
}

static int add_range_x86(const struct making *making, const struct go_range *range, bool switching)
{
	frame_rule record = frame_rule_of(FRAME_CFA_RECORD, FRAME_POINTER_SAME, 0, 0, 16);
	uint64_t from = range->depth ? making->pointed_from : making->switched_from;
	int ret = 0;
	if (!switching || !from || from > range->start)
		ret = making->add(making->context, range->start, rule_x86(making, range));
	if (ret || !switching || !from || from >= range->end)
		return ret;
	return making->add(making->context, from > range->start ? from : range->start, record);
}

/* ---- AArch64 */

static uint64_t pointed_aarch64(const struct making *making)
{
	for (uint64_t at = making->framed_from; at - making->framed_from < PROLOGUE_AARCH64;
	     at += 4)
		if (has_word(making, at, SUB_X29_SP_8))
			return at + 4;
	return 0;
}

static frame_rule rule_aarch64(uint32_t depth)
{
	if (!depth)
		return FRAME_CFA_STACK;
	return depth > POINTER_MOST
		       ? FRAME_CFA_BAD
		       : frame_rule_of(FRAME_CFA_STACK, FRAME_POINTER_AT_CFA, FRAME_SLOT_PAIR,
				       (int16_t)(-(int)depth - 8), (int32_t)depth);
}

static int add_range_aarch64(const struct making *making, const struct go_range *range,
			     bool switching)
{
	int32_t depth = (int32_t)range->depth;
	frame_rule stack = rule_aarch64(range->depth);
	uint64_t from = range->depth ? making->pointed_from : 0;
	uint64_t last = range->end - 4; /* what gives the frame back */
	int ret = 0;
	if (!from || from > range->start)
		ret = making->add(making->context, range->start, stack);
	if (ret || !from || from >= range->end)
		return ret;
	from = from > range->start ? from : range->start;
	ret = making->add(
		making->context, from,
		switching ? frame_rule_of(FRAME_CFA_RECORD, FRAME_POINTER_SAME, 0, 0, depth + 8)
			  : frame_rule_of(FRAME_CFA_BELOW, FRAME_POINTER_SAME, 0, 0, depth));
	if (ret || last <= from)
		return ret;
	if (has_word(making, last - 4, LDP_X29_X30))
		return making->add(making->context, last,
				   frame_rule_of(FRAME_CFA_STACK, FRAME_POINTER_SAME, 0, 0, depth));
	return has_word(making, last - 4, LDUR_X29) ? making->add(making->context, last, stack) : 0;
}

/* ---- both */

/* Reads what the first instructions say. */
static void look_at_prologue(struct making *making, bool switching)
{
	struct go_depths depths;
	struct go_range range;
	go_depths_begin(making->functions, making->function, &depths);
	while (go_depths_next(&depths, &range) &&
	       !(making->framed_from && range.start - making->framed_from >= PROLOGUE_X86)) {
		if (!range.depth)
			continue;
		if (!making->framed_from) {
			making->framed_from = range.start;
			making->pointed_from = making->x86 ? pointed_x86(making, range.end)
							   : pointed_aarch64(making);
		}
		if (making->x86 && !making->saved)
			look_for_saving(making, &range);
	}
	if (making->x86 && switching && !making->framed_from)
		making->switched_from = switched_x86(making);
}

static int add_signal(const struct making *making)
{
	/* As frame_rules.c has it for other programs' code that does the same. */
	uint64_t start = making->function->start;
	return making->add(
		making->context, start - 1,
		frame_rule_of(FRAME_CFA_SIGNAL, FRAME_POINTER_LOST, 0, 0, making->x86 ? 160 : 544));
}

int go_rules_run(const struct go_functions *functions, const struct go_function *function,
		 uint16_t machine, struct span code,
		 int (*add)(void *context, uint64_t address, frame_rule rule), void *context)
{
	struct making making = { .functions = functions,
				 .function = function,
				 .x86 = machine == EM_X86_64,
				 .code = code,
				 .add = add,
				 .context = context };
	bool switching = switches(function);
	struct go_depths depths;
	struct go_range range;
	int ret = 0;
	if (ends_stacks(function))
		return add(context, function->start,
			   frame_rule_of(FRAME_CFA_END, FRAME_POINTER_LOST, 0, 0, 0));
	if (returns_from_signals(function))
		return add_signal(&making);
	look_at_prologue(&making, switching);
	go_depths_begin(functions, function, &depths);
	uint64_t end = function->start;
	while (ret == 0 && go_depths_next(&depths, &range)) {
		ret = making.x86 ? add_range_x86(&making, &range, switching)
				 : add_range_aarch64(&making, &range, switching);
		end = range.end;
	}
	/* Padding, which a return may lead to; or code of which nothing is said. */
	return ret || (end > function->start) ? ret : add(context, end, FRAME_CFA_NONE);
}
