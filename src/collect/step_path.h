/*
 * step_path - the path of a stretch of steps: its branches, and the straight runs of instructions
 * between taken ones.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/step.h"

struct decoder;
struct message;
struct error;

/* What decoding says of an instruction. */
struct step_flow {
	uint8_t length_bytes;
	uint8_t kind; /* enum instruction_kind */
};

/* A jump, call, return or conditional branch, taken or not; `to`: the next instruction executed. */
struct step_edge {
	uint64_t from, to;
};

/* All instructions of [first, last] in a row. */
struct step_run {
	uint64_t first, last;
};

struct step_path {
	struct step_edge edges[STEP_LIMIT];
	size_t edge_count;
	struct step_run runs[STEP_LIMIT];
	size_t run_count;
	size_t instructions; /* executed; a repeated string instruction counts once */
};

/* Fills *path. `flow` has steps->count entries, one for each executed instruction. */
void step_path_make(const struct steps *steps, const struct step_flow *flow,
		    struct step_path *path);

/*
 * Decoding is done in a process without rights (symbol/helper_process.h), for the code is a
 * stranger's. A request holds struct step_place[], the answer as many struct step_flow.
 */
void step_decoder_run(int socket);
/* Answers one request; `context` is a struct decoder. For tests. 0, or -EBADMSG with *err. */
int step_decoder_serve(void *context, const struct message *request, struct message *answer,
		       struct error *err);
