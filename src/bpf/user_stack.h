/*
 * user_stack - who called the user code of a sample, found in the kernel at that moment: a BPF
 * program walks the user's stack by unwind rules (src/unwind), frame pointers or not, and adds the
 * frames to the sample (sample_extra.h), as bpf/user_stack_record.h says. Of samples in the
 * kernel's code it walks the stack of who called the kernel.
 *
 * Which rules hold is told by tables of files, in a pool of slabs (unwind/frame_pool.h) that the
 * program reads while it is filled here. A stack that leads into a file whose table is missing is
 * handed over as registers and a copy of its top, together with the file's key: then the user
 * finds out which file that is, and says so.
 *
 * It takes Linux 6.1 (the tree of mappings), BTF, CAP_BPF and CAP_PERFMON. Nothing is waited for: a
 * stack that is not in memory at that moment ends as unreadable. A sample costs 0.3 to 2 us more.
 *
 * Opened before the events that it serves and closed after them. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"
#include "bpf/sample_extra.h"
#include "bpf/user_stack_record.h"
#include "unwind/frame_table_layout.h"

struct error;
struct user_stack;

/* 0 and for user_stack_free(); or a negative errno value (bpf/program.h) with *err saying what is
 * needed. */
int user_stack_new(struct user_stack **out, struct error *err);
void user_stack_free(struct user_stack *stack); /* NULL does nothing */
/* Asks for files' rules from now on; before, all are walked by frame pointers, so that measuring what a
 * sample costs does not find copies that nobody answers. `ring_bytes`: of the ring of a CPU, a part of
 * which copies may take until user_stack_taken() says that it was emptied; further stacks end with
 * WALK_NO_TABLE. `root`: a process as the first pid namespace numbers it, below
 * which alone files are asked for; 0: everywhere. */
void user_stack_begin(struct user_stack *stack, size_t ring_bytes, uint32_t root);
void user_stack_taken(struct user_stack *stack);
/* Polls readable when a file was asked for first; user_stack_rang() says whether one was, once. */
int user_stack_bell_fd(const struct user_stack *stack);
bool user_stack_rang(struct user_stack *stack);
const struct sample_extra *user_stack_extra(const struct user_stack *stack);

/* Makes slab `number` of the pool, zeroed; NULL: out of memory. For struct frame_pool_options. */
uint32_t *user_stack_slab(struct user_stack *stack, uint32_t number);

/*
 * Tells the rules of a file; NULL: it has none, and frame pointers are followed there. 0, -ENOSPC
 * where there is room for no more files, or a negative errno value.
 */
int user_stack_put(struct user_stack *stack, const struct user_stack_key *key,
		   const struct frame_table_place *place);
/* Tells that the rules of a file cannot be had now: stacks end there, without a copy, until it is
 * forgotten. As user_stack_put(). */
int user_stack_postpone(struct user_stack *stack, const struct user_stack_key *key);
/* Forgets a file. The program may go on looking into its table until user_stack_wait(). */
void user_stack_forget(struct user_stack *stack, const struct user_stack_key *key);
/* Waits until no program looks at what was forgotten before: some ms, without CPU time. 0 or a
 * negative errno value. */
int user_stack_wait(struct user_stack *stack);
/* How long the program took, as it measures itself (program_time.h), of all CPUs and samples but
 * kernel threads'. */
struct program_time user_stack_time(const struct user_stack *stack);
uint64_t user_stack_bytes(const struct user_stack *stack); /* of memory, but for the slabs */

/* A record, as the raw data of an output event's sample have it. */
struct user_stack_read {
	struct user_stack_head head;
	const uint8_t *frames; /* head.count words, not aligned; of USER_STACK_FRAMES */
	uint64_t registers[USER_STACK_REGISTERS];
	struct span stack; /* of USER_STACK_COPY */
};

/* False: it is no such record. Its content is as trustworthy as the process whose stack it is. */
bool user_stack_read(struct span raw, struct user_stack_read *out);
