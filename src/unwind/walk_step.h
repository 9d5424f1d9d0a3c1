/*
 * walk_step - one step of a walk along a stack: from the registers of a frame to those of its
 * caller, by the rule of the place. The same code in the kernel (src/bpf) and here.
 *
 * Before it is included there is a macro WALK_READ(context, address, words, count), which reads
 * `count` words of 8 bytes of the stack and is 0 where it did; and in the kernel FRAME_INLINE.
 */
#pragma once

#include <stdint.h>

#include "frame_rule.h"
#include "walk_end.h"

#ifndef FRAME_INLINE
#define FRAME_INLINE static inline
#endif

struct walk_state {
	uint64_t ip, sp, fp;
	uint64_t link;	/* AArch64: x30; x86-64: rbx */
	uint64_t other; /* x86-64: r10, of the innermost frame */
	uint64_t first; /* x86-64: rdi, of the innermost frame */
	uint32_t
		returns; /* 1: `ip` is where a call returns to; 0: an instruction that was to run */
	uint32_t frames; /* before this one */
	uint32_t sp_lost, fp_lost, link_lost;
	uint32_t follow;  /* x86-64: rbx is read where it is saved, else it is lost there: few need
			     it */
	uint32_t guessed; /* steps by frame pointers where no rule was */
};

enum walk_machine { WALK_X86_64, WALK_AARCH64 };

/* The most that a frame may be above the one before it, where it is a guess. */
#define WALK_GUESS_BYTES (1u << 20)

#define WALK_REGISTER_RBX 3
#define WALK_REGISTER_R10 10

/* Words at a signal's registers (arch/.../include/uapi/asm/sigcontext.h): x86-64 from rbp on: rbp,
 * rbx, rdx, rax, rcx, rsp, rip, which begin 40 bytes before rsp, to which the rule leads; AArch64
 * x29, x30, sp, pc. */
#define WALK_SIGNAL_WORDS_X86	  7
#define WALK_SIGNAL_BACK_X86	  40
#define WALK_SIGNAL_WORDS_AARCH64 4

/* A user's address without a signature (pointer authentication), which stands from bit 48 or higher
 * up: bits of an address that is not signed are 0 there. */
#define WALK_ADDRESS_AARCH64(word) ((word) & ((1ull << 48) - 1))

FRAME_INLINE enum walk_end walk_signal(struct walk_state *state, enum walk_machine machine,
				       uint64_t at, void *context)
{
	uint64_t words[WALK_SIGNAL_WORDS_X86];
	(void)context;
	if (state->sp_lost)
		return WALK_LOST;
	state->returns = state->fp_lost = state->link_lost = 0;
	if (machine == WALK_X86_64) {
		if (WALK_READ(context, at - WALK_SIGNAL_BACK_X86, words, WALK_SIGNAL_WORDS_X86))
			return WALK_UNREADABLE;
		state->fp = words[0];
		state->link = words[1];
		state->sp = words[5];
		state->ip = words[6];
		return WALK_GOES_ON;
	}
	if (WALK_READ(context, at, words, WALK_SIGNAL_WORDS_AARCH64))
		return WALK_UNREADABLE;
	state->fp = words[0];
	state->link = words[1];
	state->sp = words[2];
	state->ip = words[3];
	return WALK_GOES_ON;
}

/* By frame pointers, as the kernel does it: the caller's and the return address are where ours
 * points. */
FRAME_INLINE enum walk_end walk_guess(struct walk_state *state, enum walk_machine machine,
				      void *context)
{
	uint64_t words[2];
	(void)context;
	/* The outermost frame has none (System V ABI of AMD64, 3.4.1; AAPCS64, 6.4.6). */
	if (state->frames && !state->fp_lost && !state->fp)
		return WALK_WHOLE;
	if (state->fp_lost || state->fp < state->sp || state->fp - state->sp > WALK_GUESS_BYTES ||
	    state->fp & 7)
		return WALK_NO_RULE;
	if (WALK_READ(context, state->fp, words, 2))
		return WALK_UNREADABLE;
	/* Of AArch64 the two words may be anywhere in the frame. */
	state->sp_lost = machine == WALK_AARCH64;
	state->sp = state->fp + 16;
	state->fp = words[0];
	state->ip = machine == WALK_AARCH64 ? WALK_ADDRESS_AARCH64(words[1]) : words[1];
	state->returns = 1;
	state->link_lost = 1;
	state->guessed++;
	state->frames++;
	return state->ip ? WALK_GOES_ON : WALK_WHOLE;
}

/* To the caller whose frame pointer and return address are where ours points. */
FRAME_INLINE enum walk_end walk_record(struct walk_state *state, enum walk_machine machine,
				       uint64_t offset, void *context)
{
	uint64_t words[2];
	(void)context;
	if (state->fp_lost)
		return WALK_LOST;
	if (!state->fp)
		return WALK_WHOLE;
	if (WALK_READ(context, state->fp, words, 2))
		return WALK_UNREADABLE;
	state->sp = state->fp + offset;
	state->sp_lost = 0;
	state->fp = words[0];
	state->ip = machine == WALK_AARCH64 ? WALK_ADDRESS_AARCH64(words[1]) : words[1];
	state->link = words[1];
	state->link_lost = machine != WALK_AARCH64;
	state->returns = 1;
	state->frames++;
	return state->ip ? WALK_GOES_ON : WALK_WHOLE;
}

/* To the caller of a Go function of AArch64. Frame pointers that are saved on a goroutine's stack
 * are not relied on: Go 1.19 leaves them as they are when it moves the stack. */
FRAME_INLINE enum walk_end walk_below(struct walk_state *state, enum walk_machine machine,
				      int64_t offset, void *context)
{
	uint64_t word;
	(void)context;
	if (machine != WALK_AARCH64)
		return WALK_BAD_RULE;
	if (state->sp_lost)
		return WALK_LOST;
	if (offset <= 0)
		return WALK_BACKWARDS;
	if (WALK_READ(context, state->sp, &word, 1))
		return WALK_UNREADABLE;
	state->link = word;
	state->link_lost = 0;
	/* A copy of the stack begins above it, of the innermost frame. */
	state->fp_lost = WALK_READ(context, state->sp - 8, &word, 1) != 0;
	state->fp = word;
	state->sp += (uint64_t)offset;
	state->ip = WALK_ADDRESS_AARCH64(state->link);
	state->returns = 1;
	state->frames++;
	return state->ip ? WALK_GOES_ON : WALK_WHOLE;
}

/* Stores the frame's address. */
FRAME_INLINE enum walk_end walk_cfa(const struct walk_state *state, enum walk_machine machine,
				    frame_rule rule, uint64_t *cfa, void *context)
{
	int64_t offset = frame_rule_offset(rule);
	(void)context;
	switch (frame_rule_cfa(rule)) {
	case FRAME_CFA_STACK:
		*cfa = state->sp + (uint64_t)offset;
		return state->sp_lost ? WALK_LOST : WALK_GOES_ON;
	case FRAME_CFA_FRAME:
		*cfa = state->fp + (uint64_t)offset;
		return state->fp_lost ? WALK_LOST : WALK_GOES_ON;
	case FRAME_CFA_PLT:
		*cfa = state->sp + 8 + ((state->ip & 15) >= (uint64_t)offset ? 8 : 0);
		return state->sp_lost ? WALK_LOST : WALK_GOES_ON;
	case FRAME_CFA_LOADED:
		if (state->fp_lost)
			return WALK_LOST;
		return WALK_READ(context, state->fp + (uint64_t)offset, cfa, 1) ? WALK_UNREADABLE
										: WALK_GOES_ON;
	case FRAME_CFA_OTHER: {
		uint32_t number = (uint32_t)(offset >> 24) & 255;
		uint64_t low = (uint64_t)((int64_t)((uint64_t)offset << 40) >> 40);
		if (machine != WALK_X86_64)
			return WALK_BAD_RULE;
		if (number == WALK_REGISTER_RBX) {
			*cfa = state->link + low;
			return state->link_lost ? WALK_LOST : WALK_GOES_ON;
		}
		*cfa = state->other + low;
		return number == WALK_REGISTER_R10 && !state->frames ? WALK_GOES_ON : WALK_BAD_RULE;
	}
	default:
		return WALK_BAD_RULE;
	}
}

/* Whether what was saved at an address has been read back: an epilogue takes registers from the
 * stack and leaves the rule of each as it was. */
FRAME_INLINE int walk_is_restored(const struct walk_state *state, uint64_t at)
{
	return at < state->sp && !state->sp_lost;
}

/* Stores the caller's frame pointer, or that it is lost. */
FRAME_INLINE enum walk_end walk_pointer(struct walk_state *state, frame_rule rule, uint64_t cfa,
					void *context)
{
	uint64_t offset = (uint64_t)frame_rule_pointer_offset(rule);
	(void)context;
	switch (frame_rule_pointer(rule)) {
	case FRAME_POINTER_SAME:
		return WALK_GOES_ON;
	case FRAME_POINTER_LOST:
		state->fp_lost = 1;
		return WALK_GOES_ON;
	default:
		break;
	}
	uint64_t at = frame_rule_pointer(rule) == FRAME_POINTER_AT_CFA ? cfa + offset
								       : state->fp + offset;
	if (frame_rule_pointer(rule) == FRAME_POINTER_AT_FRAME && state->fp_lost)
		return WALK_LOST;
	uint64_t word;
	if (walk_is_restored(state, at))
		return WALK_GOES_ON;
	if (WALK_READ(context, at, &word, 1))
		return WALK_UNREADABLE;
	state->fp = word;
	state->fp_lost = 0;
	return WALK_GOES_ON;
}

/* Whether frame pointer and return address are side by side, as in most frames. */
FRAME_INLINE int walk_is_pair(enum walk_machine machine, frame_rule rule)
{
	return frame_rule_pointer(rule) == FRAME_POINTER_AT_CFA &&
	       (machine == WALK_AARCH64 ? frame_rule_slot(rule) == FRAME_SLOT_PAIR
					: frame_rule_pointer_offset(rule) == -16);
}

/* Stores both of such a frame's caller, by one read. */
FRAME_INLINE enum walk_end walk_pair(struct walk_state *state, enum walk_machine machine,
				     frame_rule rule, uint64_t at, uint64_t cfa, void *context)
{
	uint64_t words[2];
	unsigned slot = frame_rule_slot(rule);
	(void)context;
	(void)cfa;
	if (WALK_READ(context, at, words, 2))
		return WALK_UNREADABLE;
	if (machine == WALK_AARCH64) {
		state->link = words[1];
		state->link_lost = 0;
		state->ip = WALK_ADDRESS_AARCH64(words[1]);
	} else {
		if (slot && !walk_is_restored(state, cfa - 8 * slot)) {
			if (state->follow && WALK_READ(context, cfa - 8 * slot, &state->link, 1))
				return WALK_UNREADABLE;
			state->link_lost = !state->follow;
		}
		state->ip = words[1];
	}
	state->fp = words[0];
	state->fp_lost = 0;
	return WALK_GOES_ON;
}

/* Stores return address and rbx or x30 of the caller. */
FRAME_INLINE enum walk_end walk_return(struct walk_state *state, enum walk_machine machine,
				       frame_rule rule, uint64_t cfa, void *context)
{
	unsigned slot = frame_rule_slot(rule);
	uint64_t word;
	(void)context;
	if (machine == WALK_AARCH64) {
		if (slot) {
			uint64_t at = slot == FRAME_SLOT_PAIR
					      ? cfa + (uint64_t)frame_rule_pointer_offset(rule) + 8
					      : cfa - 8 * (slot - 1);
			if (walk_is_restored(state, at))
				word = state->link;
			else if (WALK_READ(context, at, &word, 1))
				return WALK_UNREADABLE;
			state->link = word;
		} else if (state->link_lost || state->returns) {
			/* The call whose return this is has overwritten it. */
			return WALK_LOST;
		}
		state->ip = WALK_ADDRESS_AARCH64(state->link);
		state->link_lost = 0;
		return WALK_GOES_ON;
	}
	if (slot && walk_is_restored(state, cfa - 8 * slot)) {
		/* rbx is what the caller had */
	} else if (slot && state->follow) {
		if (WALK_READ(context, cfa - 8 * slot, &word, 1))
			return WALK_UNREADABLE;
		state->link = word;
		state->link_lost = 0;
	} else if (slot) {
		state->link_lost = 1;
	}
	if (WALK_READ(context, cfa - 8, &word, 1))
		return WALK_UNREADABLE;
	state->ip = word;
	return WALK_GOES_ON;
}

/*
 * Code that no rule is about in a file that has rules is written by hand, and mostly a function
 * that calls none and saves nothing: its caller is where a return would go to now. Whoever walks
 * takes walk_leaf_rule() for the innermost frame there, if a rule is about the code in front of
 * walk_leaf_return(), and follows the frame pointer otherwise.
 */
FRAME_INLINE uint64_t walk_leaf_return(const struct walk_state *state, enum walk_machine machine,
				       void *context)
{
	uint64_t word = 0;
	(void)context;
	if (machine == WALK_AARCH64)
		return WALK_ADDRESS_AARCH64(state->link);
	return WALK_READ(context, state->sp, &word, 1) ? 0 : word;
}

FRAME_INLINE frame_rule walk_leaf_rule(enum walk_machine machine)
{
	return frame_rule_of(FRAME_CFA_STACK, FRAME_POINTER_SAME, 0, 0,
			     machine == WALK_AARCH64 ? 0 : 8);
}

/*
 * Goes from a frame to its caller. Another value than WALK_GOES_ON ends the walk, with the frame
 * that `state` was about as the last one. `may_guess`: where there is no rule the frame pointer is
 * followed; not where a rule may come to be known.
 */
FRAME_INLINE enum walk_end walk_step(struct walk_state *state, enum walk_machine machine,
				     frame_rule rule, int may_guess, void *context)
{
	enum frame_cfa kind = frame_rule_cfa(rule);
	uint64_t cfa = 0;
	enum walk_end end;
	if (kind == FRAME_CFA_END)
		return WALK_WHOLE;
	if (kind == FRAME_CFA_NONE)
		return may_guess ? walk_guess(state, machine, context) : WALK_NO_TABLE;
	if (kind == FRAME_CFA_STACK && state->sp_lost)
		return walk_guess(state, machine, context);
	if (kind == FRAME_CFA_SIGNAL) {
		end = walk_signal(state, machine, state->sp + (uint64_t)frame_rule_offset(rule),
				  context);
		state->frames++;
		return end;
	}
	if (kind == FRAME_CFA_LINKED) {
		if (state->frames || machine != WALK_X86_64)
			return WALK_BAD_RULE;
		state->ip = state->first;
		state->sp += (uint64_t)frame_rule_offset(rule);
		state->returns = 1;
		state->frames++;
		return WALK_GOES_ON;
	}
	if (kind == FRAME_CFA_RECORD)
		return walk_record(state, machine, (uint64_t)frame_rule_offset(rule), context);
	if (kind == FRAME_CFA_BELOW)
		return walk_below(state, machine, frame_rule_offset(rule), context);
	end = walk_cfa(state, machine, rule, &cfa, context);
	if (end != WALK_GOES_ON)
		return end;
	/* A leaf of AArch64 may have put nothing on the stack. */
	if (cfa < state->sp || (cfa == state->sp && (machine == WALK_X86_64 || state->returns)))
		return WALK_BACKWARDS;
	uint64_t at = cfa + (uint64_t)frame_rule_pointer_offset(rule);
	if (walk_is_pair(machine, rule) && !walk_is_restored(state, at)) {
		end = walk_pair(state, machine, rule, at, cfa, context);
	} else {
		end = walk_pointer(state, rule, cfa, context);
		if (end == WALK_GOES_ON)
			end = walk_return(state, machine, rule, cfa, context);
	}
	if (end != WALK_GOES_ON)
		return end;
	state->sp = cfa;
	state->sp_lost = 0;
	state->returns = 1;
	state->frames++;
	return state->ip ? WALK_GOES_ON : WALK_WHOLE;
}
