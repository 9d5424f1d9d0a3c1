/*
 * symbol - a function as the symbol tables of a file list it.
 */
#pragma once

#include <stdint.h>

#include "base/span.h"

enum symbol_source {
	SYMBOL_FROM_SYMTAB,
	SYMBOL_FROM_DYNSYM,
	SYMBOL_FROM_DEBUG_FILE,
	SYMBOL_FROM_DEBUGDATA,
	SYMBOL_FROM_GO, /* the table of a Go program's functions */
	SYMBOL_FROM_PLT,
	SYMBOL_FROM_FRAMES, /* .eh_frame: without a name */
};

struct symbol {
	uint64_t start;	     /* vaddr */
	uint64_t size_bytes; /* at least 1 */
	struct span name;    /* linkage name; empty when unnamed */
	uint64_t parent;     /* of a cold part */
	uint32_t flags;	     /* enum function_flags */
	uint32_t group; /* source file of a local symbol, counted within its table; 0 otherwise */
	uint8_t source;
	uint8_t binding; /* STB_* */
	uint8_t type;	 /* STT_* */
};
