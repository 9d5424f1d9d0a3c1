/*
 * jit_timeline - what code a process's JIT compiler had at an address, and when.
 * Compilers put code into memory that other code was in before: a sample belongs
 * to what was there at its time.
 *
 * A place of an image has no time, so each function needs vaddrs of its own. The first
 * at its addresses has these as vaddrs. One that is loaded over another has its
 * address in the low 48 bits, above them a hash of its name and size, and the top
 * bit set, which no address of a program has: the same vaddr in every epoch, and in
 * every recording that sees both functions.
 *
 * Functions come from strangers: any order, any overlap, any number must be
 * bearable. Adding one may compare it with some millions of others: callers that add
 * many of a stranger's watch `work` and pause in between. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/number_map.h"
#include "base/span.h"

#define JIT_NO_ORDINAL UINT32_MAX

struct jit_loaded {
	uint64_t address, size_bytes;
	uint64_t time_ns; /* when it was loaded; 0: before everything, or not known */
	struct span
		name;	 /* copied by jit_timeline_add(); in what is returned, the timeline's own */
	uint32_t source; /* the owner's number for where it was read */
	uint32_t ordinal; /* its number in that file; JIT_NO_ORDINAL: nothing but its name is known
			   */
	uint32_t origin;  /* likewise, of the load that it is a move of */
	uint64_t vaddr;	  /* of its first byte; the timeline chooses it */
	bool sampled;	  /* jit_timeline_vaddr() gave out an address in it */
};

struct jit_timeline {
	struct jit_loaded *list; /* in the order they were added */
	size_t count, capacity;
	struct number_map pages; /* private: what touches a page */
	uint32_t *large;	 /* private: what touches too many */
	size_t large_count, large_capacity;
	uint64_t kept_bytes;
	uint64_t looks;	       /* private: at functions, for such as are on many pages */
	uint64_t narrow_looks; /* private: for others */
	/* How much adding and jit_timeline_vaddr() have done so far: comparisons of some 2 ns. */
	uint64_t work;
	uint64_t latest_ns; /* private: of all that was added */
	bool unordered;	    /* private: something was added that is older than what came before */
	struct arena arena;
};

#define JIT_TIMELINE_MOST_BYTES (256u << 20) /* of one process */
#define JIT_TIMELINE_MOST_LARGE 256u	     /* functions of more than 1 MB */
/* A few bytes of a dump can claim hundreds of pages again and again: seconds of work in all. */
#define JIT_TIMELINE_MOST_LOOKS (UINT64_C(1) << 29)
/* A page has up to 4,096 loads, 8 us: what a map says of it again and again needs an end, too. */
#define JIT_TIMELINE_MOST_NARROW_LOOKS (UINT64_C(1) << 32)

void jit_timeline_release(struct jit_timeline *timeline); /* also right for a zeroed one */

/*
 * Adds a function that was loaded; the same one again at the same address is not added twice.
 * Returns 0, -ENOMEM, or -EFBIG when a limit is reached and it is left out. One that is empty or
 * passes the end of 48 bits is left out silently.
 */
int jit_timeline_add(struct jit_timeline *timeline, const struct jit_loaded *loaded);

/*
 * The function at `address` at `time_ns`: the latest of those that were loaded there by then.
 * Before the first was loaded it is the first, since compilers report code after they have made it.
 * NULL when there never was any. Borrowed until the next change.
 */
const struct jit_loaded *jit_timeline_find(const struct jit_timeline *timeline, uint64_t address,
					   uint64_t time_ns);
/* The function that has the vaddr, or NULL. */
const struct jit_loaded *jit_timeline_at(const struct jit_timeline *timeline, uint64_t vaddr);
/* The vaddr of an address at a time; its function counts as sampled from then on. The address
 * itself where no function is known. */
uint64_t jit_timeline_vaddr(struct jit_timeline *timeline, uint64_t address, uint64_t time_ns);

/* The memory that it takes, about. */
uint64_t jit_timeline_bytes(const struct jit_timeline *timeline);
/*
 * Forgets functions until about `keep_bytes` are left: those without samples before those with, and
 * older before newer ones. Vaddrs stay as they are. Returns 0 and adds their number to *dropped, or
 * -ENOMEM with nothing changed.
 */
int jit_timeline_trim(struct jit_timeline *timeline, uint64_t keep_bytes, uint64_t *dropped);
