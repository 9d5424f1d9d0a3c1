/*
 * jit_private - what the two halves of jit.h share: reading the files while samples come (jit.c),
 * and gathering from them when names are read (jit_gather.c).
 */
#pragma once

#include "collect/jit.h"
#include "symbol/jitdump.h"

struct file;
struct stat;

struct jit_dump {
	uint32_t file; /* in the file table */
	struct jitdump dump;
	uint64_t read_bytes;
	bool caught_up;	    /* its end was reached once: what comes is news */
	size_t taken;	    /* functions that the timeline has */
	bool copied;	    /* as in jit_map */
	uint64_t opened_ns; /* last */
};

enum jit_haste { JIT_IN_STEPS, JIT_TO_THE_END };

bool jit_is_strange(const struct jit *jit);
/* 0: the reader's own limit. */
uint32_t jit_most_record_bytes(const struct jit *jit);
/* To be asked every 10 ms or so: nobody wants us to end, and its user has time left. */
bool jit_may_go_on(const struct jit_table *table, const struct jit *jit);
/* The file that the process mapped, when it is its user's own. */
int jit_open_dump(const struct jit_table *table, struct jit *jit, uint32_t number,
		  struct stat *info, bool *copied);
/* The next bytes of the file. Returns 1 when there are more, 0, or -ENOMEM. */
int jit_feed_piece(const struct jit_table *table, struct jit *jit, const struct file *file, int fd,
		   uint64_t *read_bytes, struct jitdump *dump);
int jit_read_files(struct jit_table *table, struct jit *jit, uint64_t now_ns, enum jit_haste haste);
