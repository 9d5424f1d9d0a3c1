/*
 * simpleperf_private - what reading simpleperf's tables and naming images share;
 * nobody else includes it.
 */
#pragma once

#include "base/cursor.h"
#include "import/perf_data/simpleperf.h"

enum simpleperf_type {
	SIMPLEPERF_TYPE_KERNEL,
	SIMPLEPERF_TYPE_MODULE,
	SIMPLEPERF_TYPE_ELF,
	SIMPLEPERF_TYPE_DEX,
	SIMPLEPERF_TYPE_SYMBOL_MAP,
	SIMPLEPERF_TYPE_UNKNOWN,
};

/* Texts and symbols borrow. */
struct simpleperf_file {
	struct span path;
	uint32_t type;	     /* enum simpleperf_type */
	uint64_t min_vaddr;  /* of its executable segment */
	uint64_t min_offset; /* in the file, of min_vaddr; of a module: in its memory */
	bool has_min_offset; /* false: written by a version whose tables have none */
	uint32_t symbol_count;
	bool protobuf;
	struct span symbols; /* those still to be read by simpleperf_next_symbol() */
};

struct simpleperf_symbol {
	uint64_t vaddr;
	uint32_t size_bytes;
	struct span name;
};

/* The next file of a FILE or FILE2 payload; what makes no sense is counted and passed over. */
bool simpleperf_next_file(struct cursor *all, struct simpleperf_file *file, size_t *bad);
bool simpleperf_next_file2(struct cursor *all, struct simpleperf_file *file, size_t *bad);
/* The next symbol of a file of either. */
bool simpleperf_next_symbol(struct simpleperf_file *file, struct simpleperf_symbol *symbol);
