/*
 * perf_data_places - whose code an address of a perf.data file is. Images are
 * numbered here while the file is read; rows of the profile are made at the end,
 * when the table of build-ids is known.
 *
 * Code is known by what the file says alone: a file's address counts from the
 * file's start, the kernel's from its text. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/hash_index.h"
#include "base/span.h"
#include "image/process_table.h"
#include "intake/world.h"
#include "machine/perf_record.h"
#include "profile/profile.h"

#define PERF_BUILD_ID_ROOM 20

struct perf_image {
	enum image_kind kind;
	enum vaddr_space space;
	enum unknown_cause cause; /* that it stands for */
	char *name;		  /* path, module, BPF program, cause, or whose run-time code */
	uint8_t build_id[PERF_BUILD_ID_ROOM];
	uint8_t build_id_bytes; /* 0: not known */
	bool calls_exact;	/* callers' addresses are those of calls, not of returns */
	bool text_mapped;	/* executable, at text_offset the lowest time */
	uint64_t text_offset;
	bool runtime;		    /* memory without a file: each process has its own code there */
	bool process;		    /* the code that one made at run time: named after it */
	bool data;		    /* runtime, and the memory could not be executed */
	char *path;		    /* also seen as; NULL: none but the name */
	uint32_t major, minor;	    /* of the device that a file lay on */
	uint64_t inode, generation; /* inode 0: not told */
	bool several;		    /* files, one after the other, under its path */
	uint64_t mapped_ns;	    /* first; 0: before the recording */
	uint64_t mapped_at;	    /* first; 0: not told */
	struct hash128 hash;	    /* of its content, where it was found on this machine */
	bool has_hash;
	uint64_t writer; /* then: who else can write it */
	uint32_t row;	 /* in the profile; 0: not made */
};

struct perf_build { /* a row of the table of build-ids */
	enum code_mode mode;
	char *path;
	uint8_t build_id[PERF_BUILD_ID_ROOM];
	uint8_t build_id_bytes;
};

struct perf_places {
	struct perf_image *images; /* number - 1 */
	size_t count, capacity;
	struct hash_index index;
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
	char boot[9]; /* what tells its processes from those of other hosts and boots */
	struct perf_build *builds;
	size_t build_count, build_capacity;
};

int perf_places_init(struct perf_places *places); /* 0 or -ENOMEM */
void perf_places_release(struct perf_places *places);

/* A mapping of a process or of the kernel. 0 or -ENOMEM. */
int perf_places_map(struct perf_places *places, struct process_table *processes,
		    const struct perf_record *record);
/* A BPF program's text came. 0 or -ENOMEM. */
int perf_places_symbol(struct perf_places *places, const struct perf_record *record);
/* Notes what the table of build-ids says of a path; perf_places_name_builds() uses it. 0 or
 * -ENOMEM. */
int perf_places_remember_build(struct perf_places *places, enum code_mode mode, struct span path,
			       struct span build_id);
/* Before the next: the file of that path, which no build-id tells, has code whose callers'
 * addresses are those of calls. */
void perf_places_mark_calls_exact(struct perf_places *places, struct span path);
/* After all mappings: images that the table knows get their build-ids. 0 or -ENOMEM. */
int perf_places_name_builds(struct perf_places *places);

/* What is located from here on is of a sample of that process and time, by CLOCK_MONOTONIC; 0: by
 * another clock. */
void perf_places_at(struct perf_places *places, const struct process *process, uint64_t time_ns);

/* `process` may be NULL. 0 or -ENOMEM. */
int perf_places_locate(struct perf_places *places, struct process *process, enum code_mode mode,
		       uint64_t address, enum frame_kind kind, struct located *out);

/* The place of code that nobody knows. 0 or -ENOMEM. */
int perf_places_unknown(struct perf_places *places, enum unknown_cause cause, struct located *out);

/* The row of an image in the profile. 0 or -ENOMEM. */
int perf_places_write(struct perf_places *places, struct profile *profile, uint32_t number,
		      uint32_t *row);
