/*
 * jit - the names of code that processes made at run time: their perf maps
 * (/tmp/perf-PID.map) and jitdump files. A map is opened when the process is
 * first sampled in such code, through its own root, and read when names are
 * gathered: the file outlives its name. A process that has ended is looked for under our
 * own root, where its map may have been left.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/number_map.h"

struct file_table;
struct process;
struct reader;
struct record_set;

struct jit {
	uint32_t image;
	uint32_t pid;
	uint32_t own_pid;  /* as the process sees itself */
	uint64_t start_ns; /* of the process, since boot; 0: not known */
	int map_fd;	   /* -1: none yet */
	uint64_t tried_ns;
	struct error refused; /* why a map or a jitdump that is there was not read */
	bool refused_told;
};

struct jit_table {
	struct number_map by_image; /* struct jit */
};

void jit_table_release(struct jit_table *table);
/* Remembers whose code an image is, and looks for its map, at most once a second. 0 or -ENOMEM. */
int jit_table_note(struct jit_table *table, struct reader *reader, const struct process *process,
		   uint32_t image);

/* One that there was no map of yet may have it by now. */
void jit_look_again(struct jit *jit, struct reader *reader);

/* Appends the functions that hold `addresses` (rising), with code and lines where a jitdump has
 * them. 0 or -ENOMEM. */
int jit_gather(struct jit *jit, struct reader *reader, const struct file_table *files,
	       const uint64_t *addresses, size_t count, struct record_set *out);
