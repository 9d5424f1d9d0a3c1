/*
 * step_path - which way a stretch of steps went: the branches that it came by, and the straight
 * runs between those that were taken.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/step.h"

struct decoder;
struct message;
struct error;

/* What the code says of an instruction. */
struct step_flow {
	uint8_t length_bytes;
	uint8_t kind; /* enum instruction_kind */
};

/* Every jump, call and return, and every conditional branch, taken or not. */
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
	size_t instructions; /* executed; one that repeats itself counts once */
};

/* `flow` has steps->count entries. */
void step_path_make(const struct steps *steps, const struct step_flow *flow,
		    struct step_path *path);

/*
 * Decoding is done in a process without rights (symbol/helper_process.h), for the code is a
 * stranger's. A request holds struct step_place[], the answer as many struct step_flow.
 */
void step_decoder_run(int socket);
/* Its work, for tests; `context` is a struct decoder. */
int step_decoder_serve(void *context, const struct message *request, struct message *answer,
		       struct error *err);
