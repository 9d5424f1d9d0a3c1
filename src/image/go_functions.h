/*
 * go_functions - the functions of a Go program: their names, extents and frames. Go's linker puts
 * the table (.gopclntab) into every program, for its own tracebacks, so stripped ones have it too.
 *
 * The format is that of Go's src/internal/abi/symtab.go, src/runtime/symtab.go and
 * src/cmd/link/internal/ld/pcln.go: of Go 1.2, 1.16, 1.18 and 1.20 on, for 64-bit programs of
 * x86-64 and AArch64. The table comes from strangers: functions are given as far as they rise, do
 * not overlap and lie in code, and all that is asked of one takes time linear in its code.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

struct elf_file;

struct go_format;

struct go_functions {
	const struct go_format *format;
	struct span table;
	size_t count;
	uint64_t text;			/* what addresses in it are counted from */
	size_t list;			/* where functions' addresses and details are listed */
	size_t details, names, numbers; /* where these begin */
	uint8_t quantum;		/* bytes of the smallest instruction */
	uint64_t code_start, code_end;	/* of the segment that functions lie in */
};

struct go_function {
	uint64_t start, end; /* up to the next one's start: padding belongs to it */
	struct span name;    /* borrowed from the file; empty: unknown */
	bool switches; /* it writes the stack pointer, as what goes to another stack does; not said
			  before Go 1.17 */
	size_t depths; /* for go_depths_begin(); 0: none */
};

/* Ranges of a function's code in which its stack has the same depth. */
struct go_depths {
	struct span left;
	uint64_t at, end; /* of its code */
	int64_t depth;
	bool begun;
	uint8_t quantum;
};

struct go_range {
	uint64_t start, end;
	uint32_t depth; /* bytes between the return address and the stack pointer */
};

/* 1; 0: the file has no such table, or none that is understood; -ENOMEM. */
int go_functions_open(const struct elf_file *file, struct go_functions *functions);
/* False: what is said of function `i` makes no sense. */
bool go_functions_get(const struct go_functions *functions, size_t i, struct go_function *function);

void go_depths_begin(const struct go_functions *functions, const struct go_function *function,
		     struct go_depths *depths);
/* The next range, by address; false: there is none. */
bool go_depths_next(struct go_depths *depths, struct go_range *range);
