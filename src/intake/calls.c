#include "intake/calls.h"

/* 2^64 / golden ratio (Knuth, TAOCP 3, 6.4): multiples of it spread small numbers over all bits. */
#define SPREAD UINT64_C(0x9e3779b97f4a7c15)

/* A hash of what the process's addresses mean, and of `how` they are to be read. */
static uint64_t meaning(const struct world *world, struct process *process, uint64_t how)
{
	return world->meaning(world->owner, process) + how * SPREAD;
}

/* Adds a node for calls that could not be unwound, and stores its path. */
static int add_missing(struct cells *cells, const struct world *world, enum unknown_cause cause,
		       uint64_t *path)
{
	struct located place;
	uint32_t node;
	int ret = world->unknown(world->owner, cause, &place);
	if (ret == 0)
		ret = cells_node(cells, 0, place.image, 0, FRAME_IP, &node);
	if (ret == 0)
		*path = cells_path(cells, node);
	return ret;
}

/* Stores in each frame from `first` outwards the hash by which the cache knows it. That of the
 * innermost one differs from the same frame further out, which may be one of a run of unknown
 * frames. */
static void hash_frames(const struct world *world, struct process *process, struct chain *chain,
			size_t first)
{
	uint64_t hash = meaning(world, process, chain->user_missing);
	for (size_t i = chain->count; i-- > first;) {
		struct chain_frame *frame = &chain->frames[i];
		uint64_t how = (uint64_t)frame->mode << 2 | (uint64_t)(i == 0) << 1 | frame->kind;
		frame->hash = hash = hash_u64((hash ^ frame->address) + how * SPREAD);
	}
}

/* Why the place at the end of a path is unknown; UNKNOWN_NONE when it is known, and of the root. */
static enum unknown_cause cause_of_path(const struct cells *cells, const struct world *world,
					uint64_t path)
{
	uint32_t node = path == CELLS_ROOT_PATH ? 0 : cells_find(cells, path);
	return node ? world->cause_of(world->owner, cells->nodes[node - 1].image_kind / 2)
		    : UNKNOWN_NONE;
}

/* Looks up the frames from `first` up to, not with, the frame `known`, and stores place and path in
 * each; `path` leads up to the frame `known`. A frame that is unknown for the same cause as the one
 * further out shares its path. What is further in than a fleeting frame is not remembered either.
 */
static int locate_frames(struct cells *cells, const struct world *world, struct process *process,
			 struct chain *chain, size_t first, size_t known, uint64_t path)
{
	enum unknown_cause outer = cause_of_path(cells, world, path);
	for (size_t i = known; i-- > first;) {
		struct chain_frame *frame = &chain->frames[i];
		frame->place = (struct located){ 0 };
		int ret = world->locate(world->owner, process, frame->mode, frame->address,
					frame->kind, &frame->place);
		if (ret < 0)
			return ret;
		const struct located *place = &frame->place;
		bool repeats = i > 0 && place->cause != UNKNOWN_NONE && place->cause == outer;
		if (!repeats)
			path = cells_path_below(path, place->image, place->vaddr, frame->kind);
		frame->path = path;
		outer = place->cause;
		chain->fleeting |= place->fleeting;
		if (!chain->fleeting)
			cells_remember(cells, frame->hash, path);
	}
	return 0;
}

/* Stores in *node the node of the frame `first`, or of `path` when there is no frame. The frames
 * before `known` have been looked up, and the outermost of them was called from the end of `path`.
 * Those that have no node yet, which are the innermost ones, get one. */
static int need_nodes(struct cells *cells, const struct chain *chain, size_t first, size_t known,
		      uint64_t path, uint32_t *node)
{
	size_t at = first;
	*node = 0;
	while (at < known && !(*node = cells_find(cells, chain->frames[at].path)))
		at++;
	if (at == known)
		*node = cells_find(cells, path);
	int ret = 0;
	while (at-- > first && ret == 0) {
		const struct chain_frame *frame = &chain->frames[at];
		if (frame->path != cells_path(cells, *node))
			ret = cells_node(cells, *node, frame->place.image, frame->place.vaddr,
					 frame->kind, node);
	}
	return ret;
}

int calls_of_chain(struct cells *cells, const struct world *world, struct process *process,
		   struct chain *chain, size_t first, uint32_t *node)
{
	size_t known = first;
	uint64_t path = CELLS_ROOT_PATH;
	int ret = 0;
	hash_frames(world, process, chain, first);
	/* Start at the innermost frame that is remembered with all frames further out. */
	while (known < chain->count && !cells_recall(cells, chain->frames[known].hash, &path))
		known++;
	if (known == chain->count && chain->user_missing)
		ret = add_missing(cells, world, chain->user_missing, &path);
	if (ret == 0)
		ret = locate_frames(cells, world, process, chain, first, known, path);
	return ret < 0 ? ret : need_nodes(cells, chain, first, known, path, node);
}

uint64_t calls_words_before(const struct perf_words *words, enum code_mode mode, uint64_t ip)
{
	uint64_t leaf = chain_words_of_leaf(words);
	if (!leaf || perf_word(words, leaf - 1) != ip)
		return 0;
	return leaf == 1 || code_mode_of_mark(perf_word(words, leaf - 2)) == mode ? leaf : 0;
}

int calls_of_words(struct cells *cells, const struct world *world, struct process *process,
		   const struct perf_words *words, uint64_t before, struct chain *scratch,
		   uint32_t *node)
{
	*node = 0;
	if (before == words->count)
		return 0;
	uint64_t mark = before > 1 ? perf_word(words, before - 2) : 0;
	uint64_t hash = hash_bytes(words->bytes + before * 8, (words->count - before) * 8) ^
			meaning(world, process, mark);
	uint64_t known;
	if (cells_recall(cells, hash, &known)) {
		*node = (uint32_t)known;
		return 0;
	}
	int ret = chain_begin(scratch, words->count);
	if (ret < 0)
		return ret;
	chain_add_words(scratch, words, false);
	ret = calls_of_chain(cells, world, process, scratch, 1, node);
	if (ret == 0 && !scratch->fleeting)
		cells_remember(cells, hash, *node);
	return ret;
}
