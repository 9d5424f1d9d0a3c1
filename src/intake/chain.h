/*
 * chain - the frames of one sample's call chain, innermost first: addresses, before
 * calls_of_chain() looks up where they lie. A reader of samples keeps one and fills
 * it anew for each sample.
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
	/* Filled by calls_of_chain(): */
	uint64_t hash; /* of this frame and all frames further out, in its process */
	uint64_t path; /* of the place and those of all frames further out: cells.h */
	struct located place;
};

struct chain {
	struct chain_frame *frames;
	size_t count, capacity;
	enum unknown_cause user_missing; /* why further frames of the user's part are not known:
					    what was to come from a later record, or by unwinding,
					    did not; UNKNOWN_NONE: they are all there */
	bool fleeting;	   /* filled by calls_of_chain(): as in struct located, of any frame */
};

void chain_release(struct chain *chain); /* also right for a zeroed one */
/* Empties it and makes room for so many frames. 0 or -ENOMEM. */
int chain_begin(struct chain *chain, uint64_t room);
/* Adds a frame further out; there must be room. */
void chain_add(struct chain *chain, uint64_t address, enum code_mode mode, enum frame_kind kind);
/*
 * Adds the frames of a sample's PERF_SAMPLE_CALLCHAIN words (perf_event_open(2));
 * there must be room for as many frames as words. The
 * first address of each part is where that part was interrupted, the others are
 * returns. `stop_at_user`: the user's part is left out.
 */
void chain_add_words(struct chain *chain, const struct perf_words *words, bool stop_at_user);
/*
 * Adds the user's calls as the hardware kept them (PERF_SAMPLE_BRANCH_STACK of
 * PERF_SAMPLE_BRANCH_CALL_STACK; three words each, newest first): each `from` is a call
 * instruction, and the first `to` is where the last call went. There must be room for a frame more
 * than calls.
 */
void chain_add_branches(struct chain *chain, const struct perf_words *branches);
/* How many words there are up to and with the first address; 0: there is no address. */
uint64_t chain_words_of_leaf(const struct perf_words *words);
/* Whether there are that many addresses, or more. */
bool chain_reaches(const struct perf_words *words, uint64_t addresses);
bool chain_has_user(const struct chain *chain);
