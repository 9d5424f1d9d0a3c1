/*
 * frame_rules - the rules of a whole file: rows, each of which holds from its place up to the next
 * one's. Made of .eh_frame and .debug_frame, and of Go programs of their runtime's
 * table (go_rules.h). Places are offsets in the file, so that whoever knows
 * what a process has mapped needs nothing else.
 *
 * What the tables do not say: a gap of up to 16 bytes belongs to what is before it, for that is
 * padding; a gap that holds the entry point is where stacks end; and known by their bytes are code
 * by which a signal handler returns, which AArch64's kernel and musl have without any information
 * (looked for in the first 8 MiB of such code), and what the C library puts into .init and .fini.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "unwind/frame_rule.h"

struct elf_file;

struct frame_row {
	uint32_t offset; /* in the file */
	uint32_t rule;	 /* number in `rules` */
};

struct frame_rules {
	struct frame_row *rows; /* by offset, no two equal, no two neighbours of one rule */
	size_t count;
	frame_rule *rules; /* no two equal */
	size_t rule_count;
	size_t bad; /* entries that made no sense */
};

#define FRAME_RULES_MOST 65536 /* distinct ones of a file; places of further ones count as bad */

/* 0, or -ENOMEM. A file of another machine has no rows. */
int frame_rules_read(const struct elf_file *file, struct frame_rules *out);
void frame_rules_release(struct frame_rules *rules); /* also right for a zeroed one */
/* The rule at a place; FRAME_CFA_NONE where nothing is known. */
frame_rule frame_rules_find(const struct frame_rules *rules, uint64_t offset);
