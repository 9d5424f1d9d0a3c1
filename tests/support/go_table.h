/*
 * go_table - small Go programs written byte by byte: code, and the table of functions as Go's
 * linker writes it (image/go_functions.h), in each of its formats.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

enum go_table_format {
	GO_TABLE_1_2,
	GO_TABLE_1_16,
	GO_TABLE_1_18,
	GO_TABLE_1_20,
	GO_TABLE_FORMATS
};

#define GO_TABLE_VADDR 0x400000 /* where the program is loaded */

struct go_table_function {
	const char *name;
	const void *code;
	size_t size_bytes;
	const char *depths; /* "0:1 8:12": for so many bytes the stack is so deep; NULL: not said */
	bool switches;	    /* from GO_TABLE_1_18 on */
};

struct go_table_options {
	enum go_table_format format;
	uint16_t machine;
	bool no_text; /* as Go 1.26 has it: .go.module alone says where code begins */
};

/* A whole program, whose bytes the caller releases. Each function is padded to 32 bytes. */
struct buffer go_table_program(const struct go_table_options *options,
			       const struct go_table_function *functions, size_t count);
