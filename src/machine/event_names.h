/*
 * event_names - the events that every kernel knows by number: hardware,
 * software and cache. Tables and spelling; nothing here looks at the machine.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "machine/event_cycles.h"

struct event_name {
	const char *name;
	const char *alias; /* the other spelling, or NULL */
	uint64_t config;   /* PERF_COUNT_HW_* or PERF_COUNT_SW_* */
	enum event_cycles cycles;
	bool clock; /* as in struct event */
	const char *unit;
	const char *description; /* one sentence without its full stop */
};

extern const struct event_name hardware_names[];
extern const size_t hardware_name_count;
extern const struct event_name software_names[];
extern const size_t software_name_count;

/* NULL when the table does not have the name (whole, in either spelling, any case). */
const struct event_name *hardware_name_find(const char *name);
const struct event_name *software_name_find(const char *name);

/*
 * All of perf's spellings of a cache event: CACHE[-OPERATION][-RESULT], in
 * either order. Returns false when `name` is none; a combination that no
 * kernel has (L1-icache-stores) is none.
 */
bool cache_name_parse(const char *name, uint64_t *config);

/* The canonical cache names in a fixed order; false past the last. */
#define CACHE_NAME_SIZE 32
bool cache_name_at(size_t index, char name[CACHE_NAME_SIZE], uint64_t *config, char *description,
		   size_t description_size);

/* How many edits lead from `word` to the wanted one: insertions, deletions, replacements and swaps
 * of neighbours (restricted Damerau-Levenshtein distance), case ignored. */
size_t spelling_distance(const char *word, const char *wanted);

/* Collects the nearest of many names; one that is farther than a third of the word is no
 * suggestion. */
#define SUGGESTION_SIZE 128
struct suggestion {
	const char *word;
	size_t distance;
	char nearest[SUGGESTION_SIZE]; /* "" while there is none */
};
void suggestion_init(struct suggestion *suggestion, const char *word);
void suggestion_offer(struct suggestion *suggestion, const char *name);
