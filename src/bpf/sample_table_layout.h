/*
 * sample_table_layout - what the program that counts samples shares with its user
 * (sample_table.h).
 */
#pragma once

#include <stdint.h>

#include "kernel_layout_fields.h"
#include "program_time.h"

#define SAMPLE_TABLE_EVENTS 64u
#define SAMPLE_TABLE_WAYS   4u

/*
 * Samples of one place, event and context: from the lowest bit up
 *	place	48 bits offset, 6 event, the lower 10 of the context
 *	rest	24 bits count, 20 image, the upper 20 of the context
 * A count of 0 is no entry.
 */
struct sample_table_entry {
	uint64_t place, rest;
};

#define SAMPLE_TABLE_OFFSET_BITS  48
#define SAMPLE_TABLE_CONTEXT_AT	  54 /* in place */
#define SAMPLE_TABLE_COUNT_BITS	  24
#define SAMPLE_TABLE_IMAGE_BITS	  20
#define SAMPLE_TABLE_REST_CONTEXT 44 /* in rest */
#define SAMPLE_TABLE_CONTEXT_LOW  10 /* bits of the context in place */
#define SAMPLE_TABLE_CONTEXT_BITS 30
#define SAMPLE_TABLE_COUNT_MOST	  ((UINT64_C(1) << SAMPLE_TABLE_COUNT_BITS) - 1)

enum {
	SAMPLE_TABLE_KERNEL = 0, /* image: the offset is the lower 48 bits of the kernel's address */
	SAMPLE_TABLE_ADDRESS = 1, /* image: an address of the process that the context is */
	SAMPLE_TABLE_IMAGES = 2,  /* the first image that is a file */
	SAMPLE_TABLE_UNKNOWN = 0, /* context: there was no room to give it a number */
};

/* A cache line: where an entry may be. */
struct sample_table_line {
	struct sample_table_entry ways[SAMPLE_TABLE_WAYS];
};

/* Of one CPU. It alone writes it, but for what is for the user to set. */
struct sample_table_cpu {
	struct {
		uint64_t seen;
		uint64_t lost; /* had an entry that nothing had room for */
	} events[SAMPLE_TABLE_EVENTS];
	/* Entries that others have pushed out, by half; the user sets it to 0. */
	uint32_t spilled[2];
	uint32_t turn;	   /* the way to push out next */
	uint32_t unsought; /* news that there was no room for: they are in the maps */
	struct program_time hits, misses; /* samples that had an entry, and that had none */
};

enum sample_table_contexts {
	SAMPLE_TABLE_BY_NAME,	 /* a process's name, user and control group */
	SAMPLE_TABLE_BY_PROCESS, /* a process from exec to exec */
	SAMPLE_TABLE_BY_THREAD,	 /* a thread of that */
};

/* What the program is told when it is loaded. */
struct sample_table_settings {
	struct kernel_layout layout;
	uint32_t cpus;	     /* the highest number, and one */
	uint32_t lines_bits; /* log2 of lines in one half of one CPU */
	uint32_t spill;	     /* room in one half of one CPU */
	uint32_t numbers;    /* room for in each map */
	uint32_t contexts;   /* enum sample_table_contexts */
};

/* What both sides change while it runs. */
struct sample_table_state {
	uint32_t half;	     /* that is written now: 0 or 1 */
	uint32_t generation; /* of numbers: what is remembered of an earlier one is looked up anew */
	uint32_t images, contexts; /* numbers given so far */
	uint32_t image_count, context_count; /* how many of them the maps hold, about */
};

/* Keys and values of the maps that have the numbers. All of a key counts, so no byte is undefined. */
struct sample_table_image_key {
	uint64_t inode;
	uint32_t device; /* as the kernel has it: major << 20 | minor */
	uint32_t generation;
};

struct sample_table_image {
	uint32_t number;
	uint32_t pid;	     /* of the process where it was seen first, in the first namespace */
	uint64_t start, end; /* of the mapping there, */
	uint64_t offset;     /* of its start in the file */
};

struct sample_table_context_key {
	uint32_t kind; /* enum sample_table_contexts */
	uint32_t user;
	uint64_t cgroup; /* by name: of version 2, */
	uint64_t groups; /* and what stands for those of version 1 */
	char name[16]; /* of the process */
	uint32_t pid, tid;
	uint64_t start_ns; /* since boot */
	uint64_t execs;
};

struct sample_table_context {
	uint32_t number;
	uint32_t pid; /* where it was seen first */
};

enum sample_table_news_kind {
	SAMPLE_TABLE_NEWS_IMAGE,
	SAMPLE_TABLE_NEWS_CONTEXT,
};

struct sample_table_news {
	uint32_t kind, unused;
	union {
		struct {
			struct sample_table_image_key key;
			struct sample_table_image value;
		} image;
		struct {
			struct sample_table_context_key key;
			struct sample_table_context value;
		} context;
	};
};
