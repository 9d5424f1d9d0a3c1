/*
 * frame_tables - the unwind rules of the files that processes execute from: each file's table is
 * made when a stack leads into it first, by the helper that reads files (symbol/reader.h), and kept
 * in a pool of bounded size (unwind/frame_pool.h). All processes share it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/user_stack.h"
#include "unwind/frame_pool.h"
#include "unwind/stack_walk.h"

struct file_table;

#define FRAME_TABLES_SLABS 64u /* of 1 MiB: those of a compile job take 2 */

/* Of one file. */
struct frame_tables_file {
	enum frame_tables_state {
		FRAME_TABLES_NEW,
		FRAME_TABLES_THERE,
		FRAME_TABLES_NONE,    /* it has no rules, or nobody can read them */
		FRAME_TABLES_REFUSED, /* until retry_ns */
	} state;
	struct frame_pool_entry entry;
	uint64_t retry_ns;
	bool told; /* the walker in the kernel has them, or that there are none, under `key` */
	struct user_stack_key key;
};

struct frame_tables {
	struct frame_pool pool;
	struct file_table *files;
	struct user_stack *walker;	/* NULL: nobody walks in the kernel */
	struct frame_tables_file *list; /* by number of the file */
	size_t capacity;
	uint64_t refused; /* that have no room, so far */
	uint64_t
		retry_ns; /* when the first of those that the walker postpones may be tried again */
};

/* The pool is the walker's, where there is one; both are borrowed. */
void frame_tables_init(struct frame_tables *tables, struct file_table *files,
		       struct user_stack *walker);
void frame_tables_release(struct frame_tables *tables); /* also right for a zeroed one */

/* Fills in what rule holds at an offset in a file. Where there is none it may be looked for, which
 * takes as long as reading the file. 0 or -ENOMEM. */
int frame_tables_look_up(struct frame_tables *tables, uint32_t number, uint64_t offset,
			 struct walk_place *place);
/* Makes a file's table, if there is none yet, so that nobody has to wait for it later. 0 or
 * -ENOMEM. */
int frame_tables_make(struct frame_tables *tables, uint32_t number);
/* Tells the walker the rules of a file, which it knows by that key. 0 or -ENOMEM. */
int frame_tables_tell(struct frame_tables *tables, uint32_t number,
		      const struct user_stack_key *key);
/* The same of a file that was mapped now, if nothing is known of it yet: before a stack leads
 * there. Nothing without a walker. */
int frame_tables_prepare(struct frame_tables *tables, uint32_t number,
			 const struct user_stack_key *key);
/* Has the walker ask again for files that could not be read before, once a while has passed. Called
 * now and then. */
void frame_tables_retry(struct frame_tables *tables);
/* The same of a file that has no rules, as one that holds code which a process made. */
int frame_tables_tell_none(struct frame_tables *tables, uint32_t number,
			   const struct user_stack_key *key);
/* As file_table_forget(): numbers that are not in use will be other files. */
void frame_tables_forget(struct frame_tables *tables, const bool *in_use);
