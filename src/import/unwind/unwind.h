/*
 * unwind - the user's part of call stacks that a recording holds as registers and
 * stack bytes (perf record --call-graph dwarf), unwound by the tables of the
 * binaries: found by build-id, or by name where symfs names the folder
 * (symbol/binary_finder.h).
 *
 * ELF files and their tables are a stranger's: they are read in a helper process
 * without rights, under a deadline. When it dies the sample's stack has no frames (end
 * UNWIND_HELPER_FAILED), the last file that it was given for that stack counts as missing,
 * and after UNWIND_MAX_DEATHS nothing more is unwound. Nothing is invented: a stack that can't be
 * followed ends, and says why.
 *
 * Make it early: the helper is a fork. One thread at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/span.h"
#include "import/unwind/unwind_engine.h"
#include "machine/perf_record.h"
#include "symbol/binary_finder.h"

struct address_space;
struct error;
struct unwinder;

#define UNWIND_MAX_DEATHS 8

/* The file that a mapping's number stands for; an empty build-id is not known. */
struct unwind_file {
	struct span path, build_id;
	struct binary_inode here; /* of a recording of this machine; inode 0: not known */
};

struct unwind_options {
	const char *symfs, *debug_root, *perf_cache; /* as in symbol/binary_finder.h */
	uint32_t timeout_ms;			     /* of one stack; 0: 5000 */
	/* Called for each file that lies on a stack, again for a new helper after one died; the
	 * texts need not outlive the call. Never for file 0, which is no file. */
	void (*name_file)(void *context, uint32_t file, struct unwind_file *named);
	/* Called when a file was found by its build-id or inode; may be NULL. */
	void (*found_file)(void *context, uint32_t file, const struct identity *identity);
	void *context;
};

struct unwind_sample {
	uint16_t machine; /* of the kernel: EM_X86_64, EM_386, EM_AARCH64, EM_ARM */
	uint64_t abi;	  /* enum perf_sample_regs_abi */
	uint64_t mask;	  /* of the event: sample_regs_user */
	struct perf_words registers;
	struct span stack;	     /* from the stack pointer on */
	struct address_space *space; /* NULL: none; the unwinder may keep a share of it */
};

struct unwind_missing {
	uint32_t file;	  /* the owner's number */
	uint64_t samples; /* that end in it */
};

/* Texts of `options` must outlive the unwinder. 0, -ENOMEM, or why no helper can be made. */
int unwinder_new(const struct unwind_options *options, struct unwinder **out, struct error *err);
void unwinder_free(struct unwinder *unwinder);
void unwinder_freep(struct unwinder **unwinder); /* for CLEANUP() */

/*
 * Unwinds one stack. run->frames (until the next call) begin with the sampled
 * instruction, when the registers hold it; run->end says whether they are the whole
 * stack; run->file is the owner's number of a file that is missing. 0 or -ENOMEM.
 */
int unwinder_run(struct unwinder *unwinder, const struct unwind_sample *sample,
		 struct unwind_run *run);

/* How many stacks ended in that way. */
uint64_t unwinder_count(const struct unwinder *unwinder, enum unwind_end end);
/* Why stacks end in that way, for messages: "the binary that they end in is not here". */
const char *unwind_end_text(enum unwind_end end);
/* Files that stacks end in, by falling samples. Stores an array that the caller frees; 0 or
 * -ENOMEM. */
int unwinder_missing(const struct unwinder *unwinder, struct unwind_missing **list, size_t *count);

/* EM_* of a machine as uname(2) and perf call it; EM_NONE when unwinding does not know it. */
uint16_t unwind_machine(struct span name);
