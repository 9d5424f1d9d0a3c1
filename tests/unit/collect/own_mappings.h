/*
 * own_mappings - the executable mappings of the test's own process, and code in it whose
 * branches are known: what the collector sees of others, with the truth at hand.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "image/address_space.h"

#define OWN_MAPPINGS 64
#define OWN_PATH     256

struct own_mapping {
	struct mapping mapping; /* file: 1 for the first path, and so on */
	char path[OWN_PATH];
	uint32_t major, minor;
	uint64_t inode;
};

/* Those of files, by address. */
size_t own_mappings_read(struct own_mapping mappings[OWN_MAPPINGS]);

/* Passes a conditional branch, taken when its first argument's lowest bit is 0, a jump by a
 * constant table to one of two places, and traps. */
extern const char own_branch[], own_branch_taken[], own_branch_jump[], own_branch_place_0[],
	own_branch_place_1[];
/* A branch that is taken when the lowest bit of the byte that its first argument points to is 0. */
extern const char own_load[], own_load_branch[], own_load_behind[], own_load_taken[];
/* A loop of as many rounds as its argument says, with a branch that is taken when what is left of
 * them is a multiple of 4. */
extern const char own_loop[], own_loop_branch[], own_loop_behind[], own_loop_taken[];
/* A file position of the register that holds a first argument among perf's, and of the
 * instruction pointer; and their mask. */
extern const unsigned own_argument_at, own_pc_at;
