/*
 * jit_timeline - what code a process's JIT compiler had at an address, and when.
 * Compilers put code into memory that other code was in before: a sample belongs
 * to what was there at its time.
 *
 * Places of an image know no time, so that code needs a vaddr of its own. What is
 * the first at its addresses has those. What is loaded over something else has its
 * address in the low 48 bits, above them a hash of its name and size, and the top
 * bit set, which no address of a program has: the same in every epoch, and in
 * every recording that sees both.
 *
 * Functions come from strangers: any order, any overlap, any number must be
 * bearable. One that is added can be some millions of looks at others: who adds
 * many of a stranger's stops in between, by `work`. One thread at a time.
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
	struct span name; /* borrowed for the call; the timeline's own in what it gives out */
	uint32_t source;  /* the owner's number for where it was read */
	uint32_t ordinal; /* in that file, JIT_NO_ORDINAL: it has no more than a name */
	uint32_t origin;  /* likewise, of the load that it is a move of */
	uint64_t vaddr;	  /* of its first byte; the timeline chooses it */
	bool sampled;	  /* jit_timeline_vaddr() gave out an address in it */
};

struct jit_timeline {
	struct jit_loaded *list; /* in the order of their coming */
	size_t count, capacity;
	struct number_map pages; /* private: what touches a page */
	uint32_t *large;	 /* private: what touches too many */
	size_t large_count, large_capacity;
	uint64_t kept_bytes;
	uint64_t looks;	       /* private: at functions, for such as are on many pages */
	uint64_t narrow_looks; /* private: for others */
	/* That adding and jit_timeline_vaddr() have been, ever: in looks of some 2 ns, about. */
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
 * Something was loaded; what is there already, unchanged, counts once. Returns 0, -ENOMEM, or
 * -EFBIG when one of the limits is reached, and then it is left out. An empty size and one that
 * passes the end of 48 bits are left out silently.
 */
int jit_timeline_add(struct jit_timeline *timeline, const struct jit_loaded *loaded);

/*
 * What held `address` at `time_ns`: of all that was loaded there by then the latest. Before the
 * first it is the first: compilers tell of code after they have made it. NULL when there was
 * never any. Borrowed until the next change.
 */
const struct jit_loaded *jit_timeline_find(const struct jit_timeline *timeline, uint64_t address,
					   uint64_t time_ns);
/* What has the vaddr, or NULL. */
const struct jit_loaded *jit_timeline_at(const struct jit_timeline *timeline, uint64_t vaddr);
/* The vaddr of an address at a time, whose code is sampled from then on; the address itself where
 * nothing is known. */
uint64_t jit_timeline_vaddr(struct jit_timeline *timeline, uint64_t address, uint64_t time_ns);

/* The memory that it takes, about. */
uint64_t jit_timeline_bytes(const struct jit_timeline *timeline);
/*
 * Forgets what is least needed, until about `keep_bytes` are left: what has samples stays before
 * what has none, and newer before older. Vaddrs stay as they are. Returns 0 and counts what went in
 * *dropped, or -ENOMEM with nothing changed.
 */
int jit_timeline_trim(struct jit_timeline *timeline, uint64_t keep_bytes, uint64_t *dropped);
