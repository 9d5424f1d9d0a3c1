#include "unwind/stack_walk.h"

#include <elf.h>
#include <string.h>

struct copy {
	struct span bytes;
	uint64_t at; /* address of its first byte */
};

/* Words of the copied stack. 0, or -1: it has not all of them. */
static int read_copy(const struct copy *copy, uint64_t address, uint64_t *words, size_t count)
{
	uint64_t from = address - copy->at;
	if (from > copy->bytes.size || copy->bytes.size - from < count * sizeof(*words))
		return -1;
	memcpy(words, (const uint8_t *)copy->bytes.data + from, count * sizeof(*words));
	return 0;
}

#define WALK_READ(context, address, words, count) read_copy(context, address, words, count)
#include "unwind/walk_step.h"

enum { /* perf's numbers */
       X86_BX = 1,
       X86_DI = 5,
       X86_BP = 6,
       X86_SP = 7,
       X86_IP = 8,
       X86_R10 = 18,
       AARCH64_X29 = 29,
       AARCH64_LR = 30,
       AARCH64_SP = 31,
       AARCH64_PC = 32,
};

void stack_walk_registers(const uint64_t *ordered, uint64_t *registers)
{
	static const uint8_t x86[] = { X86_IP, X86_SP, X86_BP, X86_BX, X86_R10, X86_DI };
	static const uint8_t aarch64[] = { AARCH64_PC, AARCH64_SP, AARCH64_X29, AARCH64_LR };
	bool is_x86 = WALK_MACHINE == EM_X86_64;
	for (size_t i = 0; i < (is_x86 ? sizeof(x86) : sizeof(aarch64)); i++)
		registers[is_x86 ? x86[i] : aarch64[i]] = ordered[i];
}

static bool set_registers(const struct stack_walk *walk, struct walk_state *state)
{
	const uint64_t *registers = walk->registers;
	*state = (struct walk_state){ .follow = 1 };
	if (walk->machine == EM_X86_64) {
		uint64_t needed =
			UINT64_C(1) << X86_SP | UINT64_C(1) << X86_IP | UINT64_C(1) << X86_BP;
		state->ip = registers[X86_IP];
		state->sp = registers[X86_SP];
		state->fp = registers[X86_BP];
		state->link = registers[X86_BX];
		state->other = registers[X86_R10];
		state->first = registers[X86_DI];
		state->link_lost = !(walk->mask >> X86_BX & 1);
		return (walk->mask & needed) == needed;
	}
	if (walk->machine != EM_AARCH64 || (walk->mask & WALK_MASK_AARCH64) != WALK_MASK_AARCH64)
		return false;
	state->ip = registers[AARCH64_PC];
	state->sp = registers[AARCH64_SP];
	state->fp = registers[AARCH64_X29];
	state->link = registers[AARCH64_LR];
	return true;
}

/* A 32-bit program of x86-64: by frame pointers. */
static enum walk_end run_narrow(const struct stack_walk *walk, struct walk_frame *frames,
				size_t room, size_t *count)
{
	const uint64_t *registers = walk->registers;
	uint32_t fp = (uint32_t)registers[X86_BP];
	uint64_t at = registers[X86_SP];
	uint32_t words[2] = { 0, (uint32_t)registers[X86_IP] };
	for (*count = 0; *count < room;) {
		frames[*count] = (struct walk_frame){ words[1], *count > 0, *count > 0 };
		++*count;
		if (*count > 1 && !fp)
			return WALK_WHOLE;
		uint64_t from = fp - at;
		if (fp < at || fp & 3)
			return WALK_NO_RULE;
		if (from > walk->stack.size || walk->stack.size - from < sizeof(words))
			return WALK_UNREADABLE;
		memcpy(words, (const uint8_t *)walk->stack.data + from, sizeof(words));
		if (words[0] && words[0] <= fp)
			return WALK_NO_RULE;
		fp = words[0];
		if (!words[1])
			return WALK_WHOLE;
	}
	return WALK_TOO_DEEP;
}

/* Looks up what there is at the frame that `state` is about. */
static struct walk_place look_up(const struct stack_walk *walk, const struct walk_state *state,
				 enum walk_machine machine, struct copy *copy)
{
	struct walk_place place = { 0 }, before = { 0 };
	walk->look_up(walk->context, state->ip - state->returns, &place);
	if (place.end != WALK_GOES_ON || place.rule != FRAME_CFA_NONE || !place.has_rules ||
	    state->frames)
		return place;
	uint64_t back = walk_leaf_return(state, machine, copy);
	if (back)
		walk->look_up(walk->context, back - 1, &before);
	if (back && before.end == WALK_GOES_ON && before.rule != FRAME_CFA_NONE)
		place.rule = walk_leaf_rule(machine);
	return place;
}

enum walk_end stack_walk_run(const struct stack_walk *walk, struct walk_frame *frames, size_t room,
			     size_t *count)
{
	enum walk_machine machine = walk->machine == EM_X86_64 ? WALK_X86_64 : WALK_AARCH64;
	enum walk_end end = WALK_GOES_ON;
	struct walk_state state;
	*count = 0;
	if (!set_registers(walk, &state))
		return WALK_NO_REGISTERS;
	if (walk->narrow)
		return walk->machine == EM_X86_64 ? run_narrow(walk, frames, room, count)
						  : WALK_NO_REGISTERS;
	struct copy copy = { walk->stack, state.sp };
	bool guessed = false;
	while (end == WALK_GOES_ON) {
		uint32_t guesses = state.guessed;
		if (*count == room)
			return WALK_TOO_DEEP;
		struct walk_place place = look_up(walk, &state, machine, &copy);
		/* A guess that leads nowhere was wrong. */
		if (place.end == WALK_NO_MAPPING && guessed)
			return WALK_NO_RULE;
		frames[(*count)++] = (struct walk_frame){ state.ip, state.returns, guessed };
		end = place.end;
		if (end == WALK_GOES_ON)
			end = walk_step(&state, machine, place.rule, place.may_guess, &copy);
		guessed = state.guessed != guesses;
	}
	return end;
}
