/*
 * budget - what a stranger's file may cost: memory, output, depth of stacks and
 * length of names, in proportion to the bytes that were really read of it.
 *
 * Memory is counted where all of it comes from: while a budget is open, malloc()
 * and its siblings, ours and those of every library (base/counted_malloc.c), return
 * NULL rather than pass the limit. So nothing that allocates has to know of a
 * budget; running out of one is running out of memory, an ordinary error. The budget
 * remembers its first refusal: budget_refusal() has the sentence that says which limit
 * it was, at which place of which input. Whoever ends the program shows that sentence
 * instead of the errors that followed from it, writes no file and fails.
 *
 * There is one, as there is one malloc(). A child made by fork() goes on with it unless it
 * closes it, as helper processes do. Opening and closing is for one thread, counting for any.
 * Under a sanitizer, which brings its own malloc(), memory is not counted.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct stat;

#define BUDGET_NONE UINT64_MAX /* no such limit */

/* Each byte that is read raises the limits of memory, output and frames, by the ratios below. */
struct budget_limits {
	uint64_t memory_bytes;
	uint64_t output_bytes;
	uint64_t depth;	 /* frames of one stack */
	uint64_t frames; /* of all distinct stacks together, shared ones counted each time: the work
			  * of walking them */
	uint64_t name_bytes; /* of one name, label or path */
};

#define BUDGET_DEFAULTS                                                                            \
	((struct budget_limits){ .memory_bytes = UINT64_C(64) << 20,                               \
				 .output_bytes = UINT64_C(256) << 20,                              \
				 .depth = 16384,                                                   \
				 .frames = UINT64_C(64) << 20,                                     \
				 .name_bytes = UINT64_C(1) << 20 })
#define BUDGET_LIMITLESS                                                                           \
	((struct budget_limits){ BUDGET_NONE, BUDGET_NONE, BUDGET_NONE, BUDGET_NONE, BUDGET_NONE })

/* Bytes of memory, bytes of output, and frames, for each byte that was read. */
#define BUDGET_MEMORY_RATIO 3
#define BUDGET_OUTPUT_RATIO 64
#define BUDGET_FRAMES_RATIO 8
/*
 * What one byte of a packed input may count for in memory and frames, where that much comes
 * out of it: real text unpacks 20 to 50 times and is then as large in memory as any other.
 */
#define BUDGET_PACKED_RATIO 16
/* What one byte of our own profiles counts for: columns are packed twice there, and they hold the
 * code that reports follow (docs/recordings.md, "Limits"). */
#define BUDGET_PROFILE_RATIO 96
/* What one byte of names, code or lines of a local file counts for: as in our own profiles, but
 * that it comes unpacked. */
#define BUDGET_ANSWER_RATIO 32
/* The most that local files count for in all, which allows 192 MiB of memory: an input of 2 kB may
 * name gigabytes of them. */
#define BUDGET_LOCAL_BYTES (UINT64_C(64) << 20)

/* From here on allocations count. What is open already stays, with its limits. */
void budget_open(const struct budget_limits *limits);
/* Whether there is any budget. */
bool budget_is_open(void);
/* Removes all limits, and forgets the refusal: for tests, and for children that have limits of
 * their own. */
void budget_close(void);

/* The name of the input that is read now, for the sentence. */
void budget_input(const char *name);
void budget_read(uint64_t bytes);	  /* bytes of it that were read */
void budget_read_profile(uint64_t bytes); /* of one of our own profiles */
/*
 * A file of this machine, of `file_bytes`, was read because the input names it, and `came_bytes` of
 * it are in our memory. Such files raise the limit of memory alone: by their size, but by no more
 * than BUDGET_ANSWER_RATIO times what came, and BUDGET_LOCAL_BYTES in all.
 */
void budget_read_local(uint64_t file_bytes, uint64_t came_bytes);
/* A file's size without its holes: a sparse file costs its author nothing. */
uint64_t budget_file_bytes(const struct stat *file);
/* How many of the bytes lie in pieces (of 512) that are not all zero: others may have been a hole.
 */
uint64_t budget_content_bytes(const void *bytes, size_t size);
/* So many bytes count as read in addition: the input is denser than others (import/importer.h). */
void budget_grant(uint64_t bytes);
/* So many bytes were unpacked. Where they are more than what was read, they count in its place, up
 * to BUDGET_PACKED_RATIO for each byte of it. */
void budget_unpacked(uint64_t bytes);
/* A decompressor has allocated a window of that size: the limit of memory is higher by the part of
 * it that is not used yet, since fewer bytes were unpacked. */
void budget_window(uint64_t bytes);
/* What is read at present, such as "line" and 7, for the sentence; `what` is a literal, or NULL. */
void budget_place(const char *what, uint64_t number);

/* Each returns 0, also without a budget; or refuses: -EFBIG with *err. */
int budget_take_output(uint64_t bytes, struct error *err);
int budget_check_depth(uint64_t frames, struct error *err);
int budget_check_frames(uint64_t frames, struct error *err);
int budget_check_name(uint64_t bytes, struct error *err);

/* The sentence of the first refusal, and the name of its limit ("memory"); NULL: none so far. */
const char *budget_refusal(void);
const char *budget_refused_limit(void);
/* The limit of that name: "memory", "output", "depth", "frames", "name"; NULL: there is none. */
uint64_t *budget_limit_named(struct budget_limits *limits, const char *name, size_t length);
bool budget_limit_in_bytes(const char *name); /* or a number */
uint64_t budget_peak_bytes(void);	      /* the most memory held since it was opened */
uint64_t budget_memory_limit_bytes(void);

/* For base/counted_malloc.c. */
extern bool budget_counts;		 /* whether there is anything to count */
bool budget_take_memory(uint64_t bytes); /* false: refused */
void budget_return_memory(uint64_t bytes);
/* Counts memory that is held already and cannot be given back: this is never refused, but the next
 * allocation may be. */
void budget_charge_memory(uint64_t bytes);
