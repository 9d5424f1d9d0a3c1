/*
 * edge_helper - interprets sampled states forward (isa/interpret.h) in a process without
 * rights, since files and code come from strangers. The collector hands it files once and
 * then samples by the batch; what comes back names places by file, so that it
 * means the same when the process is gone. Both sides are the same program: structures go
 * as they are.
 */
#pragma once

#include <stdint.h>

#include "collect/edge_window.h"
#include "image/address_space.h"
#include "isa/interpret.h"

struct buffer;
struct edge_engine;
struct error;
struct message;

#define EDGE_REGISTERS	 40 /* the most that a mask of perf's has */
#define EDGE_STACK_WORDS 2  /* the most that interpret_stack_bytes() asks for */

enum edge_operation {
	EDGE_SET_FILE = 1, /* header.what: its number; a descriptor */
	EDGE_RUN, /* struct edge_request; each space: its count, then mappings; then samples; then
		     the blocks of each sample */
};

struct edge_request {
	uint64_t registers; /* perf's mask */
	uint32_t spaces, samples;
};

struct edge_space_request {
	uint64_t count;
	/* then struct mapping[count], by address */
};

struct edge_sample {
	uint32_t space;
	uint32_t stack_bytes;
	uint32_t blocks; /* struct sample_memory_block, behind all samples */
	uint32_t unused;
	uint64_t stack[EDGE_STACK_WORDS];
	uint64_t registers[EDGE_REGISTERS]; /* those of the mask, in the order of its bits */
};

/* Then, for each sample in its order, a path with its edges. */
struct edge_answer {
	uint64_t cpu_ns; /* of the helper, for all of it, since its last answer */
};

struct edge_path {
	uint32_t end;	       /* enum interpret_end, of the first EDGE_INSTRUCTIONS */
	uint32_t instructions; /* likewise */
	uint32_t edges;
	uint32_t unused;
};

struct edge_found {
	uint32_t from_file, to_file;
	uint64_t from_vaddr, to_vaddr;
};

/* The helper's life. */
void edge_helper_run(int socket);

/* Its work, for tests: answers a request. */
int edge_engine_new(struct edge_engine **out, struct error *err);
void edge_engine_free(struct edge_engine *engine);
int edge_engine_serve(void *engine, const struct message *request, struct message *answer,
		      struct error *err);

enum isa edge_isa(void); /* of the machine that we run on, or ISA_UNKNOWN */
/* What to ask perf for (sample_regs_user); 0 where samples cannot be interpreted. */
uint64_t edge_registers(void);
