/*
 * chain - the frames of one sample, innermost first, before anybody looked where
 * they lie. Whoever takes samples in keeps one and fills it for each.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "intake/code_mode.h"
#include "intake/world.h"
#include "machine/perf_record.h"

struct chain_frame {
	uint64_t address;
	enum code_mode mode;
	enum frame_kind kind;
	/* Of calls_of_chain(): */
	uint64_t met;  /* hash of it and of all frames further out, in its process */
	uint64_t path; /* of its place below theirs: cells.h */
	struct located place;
};

struct chain {
	struct chain_frame *frames;
	size_t count, capacity;
	bool user_missing; /* the user's part was recorded otherwise, and was not followed */
	bool fleeting;	   /* of calls_of_chain(): where a frame lies holds for this sample alone */
};

void chain_release(struct chain *chain);
/* Empties it and makes room for so many frames. 0 or -ENOMEM. */
int chain_begin(struct chain *chain, uint64_t room);
/* Within that room. */
void chain_add(struct chain *chain, uint64_t address, enum code_mode mode, enum frame_kind kind);
/*
 * Adds what the kernel's words say; there is room for as many frames as words. The
 * first address of each part is where that part was interrupted, the others are
 * returns. `stop_at_user`: the user's part is left out.
 */
void chain_add_words(struct chain *chain, const struct perf_words *words, bool stop_at_user);
/* How many of the words come up to the first address, itself counted; 0: there is no address. */
uint64_t chain_words_of_leaf(const struct perf_words *words);
/* Whether there are that many addresses, or more. */
bool chain_reaches(const struct perf_words *words, uint64_t addresses);
bool chain_has_user(const struct chain *chain);
