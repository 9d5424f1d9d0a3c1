/*
 * edge_helper - interprets sampled states forward (isa/interpret.h) in a process without
 * rights, since files and code come from strangers. The collector sends it each file once and
 * then samples in batches; its answers name places by file and vaddr, which mean the same when
 * the sampled process is gone. Both sides are the same program, so that structures are sent as
 * they are.
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

#define EDGE_REGISTERS	 40 /* the most that a register mask of perf has */
#define EDGE_STACK_WORDS 2  /* the most that interpret_stack_bytes() returns, in words */

enum edge_operation {
	EDGE_SET_FILE = 1, /* header.what: the file's number in mappings; with its descriptor */
	EDGE_RUN, /* struct edge_request; for each space struct edge_space_request and mappings;
		     struct edge_sample of all samples; the blocks of all samples */
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
	uint32_t space; /* position in the request */
	uint32_t stack_bytes;
	uint32_t blocks; /* how many struct sample_memory_block it has */
	uint32_t unused;
	uint64_t stack[EDGE_STACK_WORDS];
	uint64_t registers[EDGE_REGISTERS]; /* those of the mask, in the order of its bits */
};

/* Begins an answer; for each sample, in order, struct edge_path and its edges follow. */
struct edge_answer {
	uint64_t cpu_ns; /* that the helper has used since its last answer */
};

struct edge_path {
	uint32_t end;	       /* enum interpret_end, within the first EDGE_INSTRUCTIONS */
	uint32_t instructions; /* likewise */
	uint32_t edges;	       /* how many struct edge_found follow */
	uint32_t unused;
};

struct edge_found {
	uint32_t from_file, to_file;
	uint64_t from_vaddr, to_vaddr;
};

/* Runs the helper in its process, as helper.run. */
void edge_helper_run(int socket);

/* What it does, for tests; edge_engine_serve() answers one request. 0 or a negative errno with
 * *err. */
int edge_engine_new(struct edge_engine **out, struct error *err);
void edge_engine_free(struct edge_engine *engine);
int edge_engine_serve(void *engine, const struct message *request, struct message *answer,
		      struct error *err);

enum isa edge_isa(void); /* of the machine that we run on, or ISA_UNKNOWN */
/* The mask for perf_event_attr.sample_regs_user; 0 where samples cannot be interpreted. */
uint64_t edge_registers(void);
