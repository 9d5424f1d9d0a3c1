/*
 * jitdump - the functions of a JIT compiler with their code, from the file
 * jit-PID.dump (linux: tools/perf/Documentation/jitdump-specification.txt).
 * The file grows while it is read: feed it as it comes, in pieces of any size.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/hash_index.h"
#include "base/span.h"
#include "symbol/interval_map.h"

struct error;

struct jit_line {
	uint64_t address;
	struct span file;
	uint32_t line;
};

struct jit_function {
	uint64_t address;
	uint64_t size_bytes;
	uint64_t loaded; /* timestamp of the load or move, in the writer's clock */
	uint64_t index;	 /* unique in the file */
	uint64_t origin; /* the number in the file of the load that this is, or is a move of */
	uint32_t pid;
	struct span name;
	struct span code;	/* empty when the writer left it out */
	struct jit_line *lines; /* by address */
	uint64_t lines_address; /* where the function lay when its lines were written */
	size_t line_count;
};

struct jit_code {
	uint64_t index;
	size_t position; /* in `functions`, of its latest place */
};

struct jitdump {
	struct jit_function *functions; /* in the order of the file; a move adds one */
	size_t count;
	size_t capacity;
	size_t bad; /* records that made no sense */
	uint32_t pid;
	uint32_t machine;    /* EM_* */
	bool closed;	     /* the writer said that it is done */
	bool own_clock;	     /* times are of a processor's counter, not CLOCK_MONOTONIC */
	uint64_t kept_bytes; /* memory that its functions take, about */
	bool names_alone; /* set by the owner before the first feed: code and lines are not kept */
	/* Likewise: the numbers in the file, rising, of the functions whose code, lines and names
	 * are kept; borrowed. NULL: all. */
	const uint32_t *wanted;
	size_t wanted_count;
	uint32_t most_record_bytes; /* likewise: larger ones are skipped; 0: JITDUMP_MAX_RECORD */
	uint64_t most_bytes;	    /* likewise: limit of kept_bytes; 0: JITDUMP_MAX_KEPT */
	uint64_t forgotten;	    /* functions that came before functions[0]: jitdump_forget() */
	/* private */
	bool opened, swapped, failed;
	struct buffer pending;		/* bytes of a record that has not come whole */
	uint64_t skip_bytes;		/* of an unknown or refused record that is still to come */
	struct jit_line *pending_lines; /* in pending_arena */
	struct arena pending_arena;
	size_t pending_line_count;
	uint64_t pending_lines_address;
	struct jit_code *codes; /* where each code index is now */
	size_t code_count, code_capacity;
	struct hash_index code_index;
	struct interval_map map; /* of the first `mapped` functions */
	size_t mapped;
	struct arena arena;
};

#define JITDUMP_MAX_RECORD (16u << 20) /* a larger one is skipped and counted as bad */
#define JITDUMP_MAX_KEPT   (1u << 30)  /* functions of one file, names, code and lines with them */

void jitdump_release(
	struct jitdump *dump); /* also right for a zeroed one, which is how one starts */
/*
 * The next bytes of the file. Returns 0, -EBADMSG when this is no jitdump file (also for later
 * calls), -EFBIG past JITDUMP_MAX_KEPT, or -ENOMEM.
 */
int jitdump_feed(struct jitdump *dump, const void *bytes, size_t size_bytes, struct error *err);
/* The memory that it takes, about. */
uint64_t jitdump_bytes(const struct jitdump *dump);
/* Forgets the functions that came so far; one that moves later is not known any more. */
void jitdump_forget(struct jitdump *dump);
/* The function that holds `address`: of those that were fed so far, the latest loaded or moved
 * there. Or NULL, also when out of memory. */
const struct jit_function *jitdump_find(struct jitdump *dump, uint64_t address);
