/*
 * perf_data_places - whose code an address of a perf.data file is, by the mappings
 * of its records.
 *
 * Code is known by what the file says alone: a file's address counts from the
 * file's start, the kernel's from its text. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "image/process_table.h"
#include "import/perf_data/perf_data_images.h"
#include "intake/world.h"
#include "machine/perf_record.h"

struct perf_places {
	struct perf_images images;
	struct address_space *kernel; /* core, modules, BPF; `offset` is relative to the text */
	uint32_t kernel_serial;	      /* changes with it */
	uint32_t kernel_image;	      /* of the core; 0: no mapping yet */
	uint64_t kernel_symbol_at;    /* what its addresses count from; 0: not told */
	char kernel_symbol[8];	      /* that lies there: "_text", "_stext" */
	struct mapping kernel_core;   /* of the kernel without its modules; end 0: not told */
	bool never_signed;	      /* addresses: the kernel lies where that of arm64 cannot */
	struct jit_beside *jit;	      /* borrowed; NULL: places do not change with time */
	uint64_t time_ns;	      /* of the sample whose addresses are located */
	uint64_t stage;		      /* of its process: jit_beside_stage() */
	uint32_t unknown[UNKNOWN_CAUSES];
	uint32_t vsyscall;
};

int perf_places_init(struct perf_places *places); /* 0 or -ENOMEM */
void perf_places_release(struct perf_places *places);

/* A mapping of a process or of the kernel. 0 or -ENOMEM. */
int perf_places_map(struct perf_places *places, struct process_table *processes,
		    const struct perf_record *record);
/* A BPF program's text came. 0 or -ENOMEM. */
int perf_places_symbol(struct perf_places *places, const struct perf_record *record);

/* What is located from here on is of a sample of that process and time, by CLOCK_MONOTONIC; 0: by
 * another clock. */
void perf_places_at(struct perf_places *places, const struct process *process, uint64_t time_ns);

/* `process` may be NULL. 0 or -ENOMEM. */
int perf_places_locate(struct perf_places *places, struct process *process, enum code_mode mode,
		       uint64_t address, enum frame_kind kind, struct located *out);

/* The place of code that nobody knows. 0 or -ENOMEM. */
int perf_places_unknown(struct perf_places *places, enum unknown_cause cause, struct located *out);
