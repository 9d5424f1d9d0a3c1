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
	uint32_t kernel_serial;	      /* grows when `kernel` changes */
	uint32_t kernel_image;	      /* of the core; 0: no mapping yet */
	uint64_t kernel_symbol_at;    /* address that the core's count from; 0: not known */
	char kernel_symbol[8];	      /* the symbol at that address: "_text", "_stext" */
	struct mapping kernel_core;   /* of the kernel without its modules; end 0: not known */
	bool never_signed;	      /* no pointer has a signature: the kernel is not arm64's */
	struct jit_beside *jit;	      /* borrowed; NULL: places do not change with time */
	uint64_t time_ns;	      /* set by perf_places_at() */
	uint64_t stage;		      /* of the process then: jit_beside_stage() */
	uint32_t unknown[UNKNOWN_CAUSES]; /* images of code that is not known; 0: none yet */
	uint32_t vsyscall;		  /* image */
};

int perf_places_init(struct perf_places *places); /* 0 or -ENOMEM */
void perf_places_release(struct perf_places *places);

/* A mapping of a process or of the kernel. 0 or -ENOMEM. */
int perf_places_map(struct perf_places *places, struct process_table *processes,
		    const struct perf_record *record);
/* A KSYMBOL record: a BPF program's text was loaded, or is gone. 0 or -ENOMEM. */
int perf_places_symbol(struct perf_places *places, const struct perf_record *record);

/* Whose addresses perf_places_locate() is to look up from here on: those of a sample of that
 * process and time, by CLOCK_MONOTONIC; 0: its time is by another clock. */
void perf_places_at(struct perf_places *places, const struct process *process, uint64_t time_ns);

/* Whose code an address is. `process` may be NULL: no process is known. Stores an image and a place
 * in it, or the image of why that is not known. 0 or -ENOMEM. */
int perf_places_locate(struct perf_places *places, struct process *process, enum code_mode mode,
		       uint64_t address, enum frame_kind kind, struct located *out);

/* The place of code that nobody knows. 0 or -ENOMEM. */
int perf_places_unknown(struct perf_places *places, enum unknown_cause cause, struct located *out);
