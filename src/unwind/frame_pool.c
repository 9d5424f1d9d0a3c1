#include "unwind/frame_pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_WORD 1u /* position 0 stands for nothing */

void frame_pool_init(struct frame_pool *pool, const struct frame_pool_options *options)
{
	*pool = (struct frame_pool){ .options = *options };
	pool->used = FRAME_SLAB_WORDS; /* of a slab before the first */
	pool->at = options->slabs - 1;
}

void frame_pool_release(struct frame_pool *pool)
{
	if (!pool->options.make)
		for (uint32_t i = 0; i < pool->made; i++)
			free(pool->slabs[i]);
	*pool = (struct frame_pool){ 0 };
}

uint64_t frame_pool_bytes(const struct frame_pool *pool)
{
	return (uint64_t)pool->made * FRAME_SLAB_WORDS * sizeof(uint32_t);
}

/* Begins the next slab, which is empty then. 0 or -ENOMEM. */
static int begin_slab(struct frame_pool *pool)
{
	uint32_t next = (pool->at + 1) % pool->options.slabs;
	if (next == pool->made) {
		uint32_t *words = pool->options.make
					  ? pool->options.make(pool->options.context, next)
					  : calloc(FRAME_SLAB_WORDS, sizeof(*words));
		if (!words)
			return -ENOMEM;
		pool->slabs[next] = words;
		pool->made++;
	} else {
		pool->evictions++;
		if (pool->options.forget)
			pool->options.forget(pool->options.context, next);
	}
	pool->generations[next]++;
	pool->at = next;
	pool->used = next == 0 ? FIRST_WORD : 0;
	return 0;
}

/* So many words in one slab, at *at. NULL: out of memory. */
static uint32_t *take(struct frame_pool *pool, uint32_t words, uint32_t *at)
{
	if (words > FRAME_SLAB_WORDS - pool->used && begin_slab(pool) < 0)
		return NULL;
	*at = pool->at * FRAME_SLAB_WORDS + pool->used;
	pool->used += words;
	return &pool->slabs[pool->at][*at % FRAME_SLAB_WORDS];
}

/* Puts the pages in, and where each is into `places`. 0 or -ENOMEM. */
static int add_pages(struct frame_pool *pool, const struct frame_table *table, uint32_t *places)
{
	const uint8_t *next = table->pages;
	for (uint32_t i = 0; i < table->head.page_count; i++) {
		uint32_t words, at = 0;
		memcpy(&words, table->sizes + (size_t)i * sizeof(words), sizeof(words));
		uint32_t *page = words ? take(pool, words, &at) : NULL;
		if (words && !page)
			return -ENOMEM;
		if (page)
			memcpy(page, next, words * sizeof(*page));
		places[i] = at;
		next += words * sizeof(*page);
	}
	return 0;
}

int frame_pool_add(struct frame_pool *pool, const struct frame_table *table,
		   struct frame_pool_entry *entry)
{
	const struct frame_table_head *head = &table->head;
	uint32_t rule_words = head->rule_count * 2;
	uint64_t words = table->words + rule_words + head->page_count;
	*entry = (struct frame_pool_entry){ .machine = (uint16_t)head->machine };
	if (!head->page_count)
		return 0;
	/* At the worst each page begins a slab that is nearly empty. */
	if (words > (uint64_t)pool->options.slabs * FRAME_SLAB_WORDS / 4 ||
	    rule_words > FRAME_SLAB_WORDS - FIRST_WORD ||
	    head->page_count > FRAME_SLAB_WORDS - FIRST_WORD)
		return -E2BIG;
	struct frame_table_place place = { .first_page = head->first_page,
					   .page_count = head->page_count };
	uint32_t *rules = take(pool, rule_words, &place.rules_at);
	if (!rules)
		return -ENOMEM;
	memcpy(rules, table->rules, rule_words * sizeof(*rules));
	entry->slab = pool->at;
	entry->generation = pool->generations[pool->at];
	uint32_t *pages = take(pool, head->page_count, &place.pages_at);
	if (!pages || add_pages(pool, table, pages) < 0)
		return -ENOMEM;
	entry->place = place;
	return 0;
}

bool frame_pool_has(const struct frame_pool *pool, const struct frame_pool_entry *entry)
{
	return pool->generations[entry->slab] == entry->generation;
}

frame_rule frame_pool_find(const struct frame_pool *pool, const struct frame_table_place *place,
			   uint64_t offset)
{
	uint64_t page = offset >> FRAME_PAGE_BITS;
	if (page < place->first_page || page - place->first_page >= place->page_count)
		return FRAME_CFA_NONE;
	uint32_t at = place->pages_at + (uint32_t)(page - place->first_page);
	const uint32_t *slab = pool->slabs[at >> FRAME_SLAB_BITS];
	at = slab ? frame_slab_word(slab, at) : 0;
	if (!at || at >> FRAME_SLAB_BITS >= FRAME_SLAB_MOST)
		return FRAME_CFA_NONE;
	slab = pool->slabs[at >> FRAME_SLAB_BITS];
	uint32_t number =
		slab ? frame_page_find(slab, at & (FRAME_SLAB_WORDS - 1), (uint32_t)offset & 0xffff)
		     : UINT32_MAX;
	/* More rules than any file may have: what was sent is not what it says. */
	if (number > 0xffff)
		return FRAME_CFA_NONE;
	at = place->rules_at + number * 2;
	slab = at >> FRAME_SLAB_BITS < FRAME_SLAB_MOST ? pool->slabs[at >> FRAME_SLAB_BITS] : NULL;
	return slab ? frame_slab_word(slab, at) | (uint64_t)frame_slab_word(slab, at + 1) << 32
		    : FRAME_CFA_NONE;
}
