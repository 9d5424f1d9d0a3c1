/*
 * code_space - what is known of one image's code, to follow its flow: where functions
 * lie, their bytes, the data that their jump tables stand in, where control comes in
 * from elsewhere and what is called. Its one source for real
 * profiles is the stash (or the same records read from a file of this machine), so
 * that both give the same answers; tests make their own.
 *
 * Addresses are vaddrs of the image. All answers live as long as the space. What
 * is not known is empty or false, never a guess. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"
#include "isa/decode.h"

struct code_function {
	uint64_t first, last; /* inclusive */
	bool is_stub;	      /* of the PLT */
	bool is_cold;	      /* the part that was split off the function at `parent` */
	uint64_t parent;
	struct span name; /* linkage name; empty: none */
};

enum code_entry_kind {
	CODE_ENTRY_JUMP,    /* other code jumps there */
	CODE_ENTRY_LANDING, /* an exception lands there */
	CODE_ENTRY_POINTER, /* data holds its address: a computed goto, perhaps, or a table that is
			       not known to be one */
};
struct code_entry {
	uint64_t vaddr;
	enum code_entry_kind kind;
};

struct code_space {
	enum isa isa;
	void *context;
	/* The function whose extent holds `vaddr`. */
	bool (*function)(void *context, uint64_t vaddr, struct code_function *out);
	/* The cold part of the function that starts at `first`. */
	bool (*cold_part)(void *context, uint64_t first, struct code_function *out);
	/* Up to `size` bytes of code or data from `vaddr` on, relative relocations applied as the
	 * loader would at address 0; fewer when no more are known. */
	struct span (*bytes)(void *context, uint64_t vaddr, size_t size);
	/* Places inside [first, last], other than `first`, where control comes in from elsewhere;
	 * by vaddr, then kind. */
	const struct code_entry *(*entries)(void *context, uint64_t first, uint64_t last,
					    size_t *count);
	/* What a call or jump to `target`, or through the slot at `target` (of the GOT), reaches.
	 * NULL data: not known. "abort", "__stack_chk_fail@plt" */
	struct span (*callee)(void *context, uint64_t target);
};
