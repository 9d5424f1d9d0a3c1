/*
 * unwind_helper - the messages between the unwinder and its helper process. Both are
 * the same program: structures are sent as they are.
 */
#pragma once

#include <stdint.h>

#include "import/unwind/unwind_engine.h"

enum unwind_operation {
	UNWIND_SET_FILE = 1, /* header.what: its number; a descriptor, or none */
	UNWIND_SET_SPACE,    /* struct unwind_space_request, then struct mapping[] */
	UNWIND_RUN,	     /* struct unwind_run_request, then the stack */
};

struct unwind_space_request {
	uint32_t number;
	uint32_t machine;
};

struct unwind_run_request {
	uint64_t space;
	struct unwind_registers registers;
};

/* Then frames. */
struct unwind_run_answer {
	uint32_t end;
	uint32_t file;
};

/* The helper process: serves requests until the socket's other end closes. Does not return. */
void unwind_helper_run(int socket);
