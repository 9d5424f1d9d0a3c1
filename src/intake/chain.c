#include "intake/chain.h"

#include <errno.h>
#include <stdlib.h>

#define CONTEXT_USER_DEFERRED ((uint64_t)-640) /* PERF_CONTEXT_USER_DEFERRED, Linux 6.18 */

void chain_release(struct chain *chain)
{
	free(chain->frames);
	*chain = (struct chain){ 0 };
}

int chain_begin(struct chain *chain, uint64_t room)
{
	chain->count = 0;
	chain->user_missing = UNKNOWN_NONE;
	chain->fleeting = false;
	if (room <= chain->capacity)
		return 0;
	struct chain_frame *grown = reallocarray(chain->frames, room, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	chain->frames = grown;
	chain->capacity = room;
	return 0;
}

void chain_add(struct chain *chain, uint64_t address, enum code_mode mode, enum frame_kind kind)
{
	chain->frames[chain->count++] =
		(struct chain_frame){ .address = address, .mode = mode, .kind = kind };
}

void chain_add_words(struct chain *chain, const struct perf_words *words, bool stop_at_user)
{
	enum code_mode mode = CODE_UNKNOWN;
	bool first = true;
	for (uint64_t i = 0; i < words->count; i++) {
		uint64_t word = perf_word(words, i);
		if (word == CONTEXT_USER_DEFERRED && i + 2 == words->count) {
			chain->user_missing = UNKNOWN_NOT_UNWOUND; /* a number follows, for a later record */
			return;
		}
		if (code_mode_is_mark(word)) {
			mode = code_mode_of_mark(word);
			first = true;
			if (mode == CODE_USER && stop_at_user)
				return;
			continue;
		}
		chain_add(chain, word, mode, first ? FRAME_IP : FRAME_RETURN);
		first = false;
	}
}

void chain_add_branches(struct chain *chain, const struct perf_words *branches)
{
	for (uint64_t i = 0; i + 2 < branches->count; i += 3) {
		if (i == 0)
			chain_add(chain, perf_word(branches, 1), CODE_USER, FRAME_IP);
		chain_add(chain, perf_word(branches, i), CODE_USER, FRAME_IP);
	}
}

uint64_t chain_words_of_leaf(const struct perf_words *words)
{
	uint64_t at = 0;
	while (at < words->count && code_mode_is_mark(perf_word(words, at)))
		at++;
	return at < words->count ? at + 1 : 0;
}

bool chain_reaches(const struct perf_words *words, uint64_t addresses)
{
	uint64_t found = 0;
	for (uint64_t i = 0; words->count >= addresses && i < words->count; i++)
		found += !code_mode_is_mark(perf_word(words, i));
	return found >= addresses;
}

bool chain_has_user(const struct chain *chain)
{
	for (size_t i = 0; i < chain->count; i++)
		if (chain->frames[i].mode == CODE_USER)
			return true;
	return false;
}
