#include "import/callgrind/callgrind_events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "import/callgrind/callgrind_line.h"
#include "profile/profile.h"

void callgrind_events_release(struct callgrind_events *events)
{
	free(events->formulas);
	*events = (struct callgrind_events){ 0 };
}

static int add_event(struct profile *profile, struct span name, enum event_origin origin,
		     uint32_t *id)
{
	const bool instructions = span_equal(name, span_of_text("Ir"));
	const struct profile_event event = {
		.name = name,
		.unit = span_of_text(instructions ? "instructions" : "events"),
		.origin = origin,
	};
	return profile_add_event(profile, &event, id);
}

/* Position in the list of the event of that id, or the count. */
static size_t find_event(const struct callgrind_events *events, uint32_t id)
{
	size_t i = 0;
	while (i < events->count && events->list[i].id != id)
		i++;
	return i;
}

int callgrind_events_name(struct callgrind_events *events, struct profile *profile,
			  struct span names, const char **what)
{
	struct callgrind_words words = callgrind_words_of(names);
	events->column_count = 0;
	while (!callgrind_at_end(&words)) {
		uint32_t id;
		if (events->count == CALLGRIND_MAX_EVENTS ||
		    events->column_count == CALLGRIND_MAX_EVENTS) {
			*what = "it names too many events";
			return -EBADMSG;
		}
		if (add_event(profile, callgrind_word(&words), ORIGIN_IMPORTED, &id) < 0)
			return -ENOMEM;
		size_t position = find_event(events, id);
		if (position == events->count)
			events->list[events->count++] = (struct callgrind_event){ .id = id };
		for (size_t i = 0; i < events->column_count; i++)
			if (events->columns[i] == position) {
				*what = "it names an event twice";
				return -EBADMSG;
			}
		events->columns[events->column_count++] = (uint16_t)position;
	}
	*what = "it names no event";
	return events->column_count ? 0 : -EBADMSG;
}

/* One term of a sum: "10 Bm", "10*Bm" or "Bm". */
static bool parse_term(struct callgrind_words *words, uint64_t *factor, struct span *name)
{
	*factor = 1;
	bool given = callgrind_number(words, factor);
	callgrind_skip_blanks(words);
	if (given && words->at < words->end && *words->at == '*') {
		words->at++;
		callgrind_skip_blanks(words);
	}
	const char *first = words->at;
	while (words->at < words->end && !strchr(" \t+", *words->at))
		words->at++;
	*name = (struct span){ first, (size_t)(words->at - first) };
	callgrind_skip_blanks(words);
	return name->size > 0;
}

static int parse_formula(struct callgrind_formula *formula, struct profile *profile,
			 struct span text)
{
	struct callgrind_words words = callgrind_words_of(text);
	for (;;) {
		uint64_t factor;
		struct span name;
		if (formula->count == CALLGRIND_MAX_TERMS || !parse_term(&words, &factor, &name))
			return -EBADMSG;
		struct callgrind_term *term = &formula->terms[formula->count++];
		term->factor = factor;
		if (profile_add_bytes(profile, name, &term->name) < 0)
			return -ENOMEM;
		if (callgrind_at_end(&words))
			return 0;
		if (*words.at++ != '+')
			return -EBADMSG;
	}
}

int callgrind_events_define(struct callgrind_events *events, struct profile *profile,
			    struct span text, const char **what)
{
	const char *colon = text.size ? memchr(text.data, ':', text.size) : NULL;
	if (colon)
		text.size = (size_t)(colon - (const char *)text.data);
	struct callgrind_words words = callgrind_words_of(text);
	const char *equals = text.size ? memchr(text.data, '=', text.size) : NULL;
	if (!equals)
		return 0; /* a description */
	struct callgrind_words left = { words.at, equals };
	struct callgrind_words right = { equals + 1, words.end };
	struct callgrind_formula formula = { 0 };
	struct span name = callgrind_rest(&left);
	int ret = name.size ? parse_formula(&formula, profile, callgrind_rest(&right)) : -EBADMSG;
	*what = "its formula is no sum of events";
	if (ret == 0 && profile_add_bytes(profile, name, &formula.name) < 0)
		ret = -ENOMEM;
	if (ret < 0)
		return ret;
	for (size_t i = 0; i < events->formula_count; i++)
		if (events->formulas[i].name == formula.name)
			return 0; /* every part of a file defines it again */
	if (events->formula_count == CALLGRIND_MAX_TERMS) {
		*what = "there are too many formulas";
		return -EBADMSG;
	}
	if (array_reserve(&events->formulas, &events->formula_capacity, events->formula_count,
			  sizeof(*events->formulas)) < 0)
		return -ENOMEM;
	events->formulas[events->formula_count++] = formula;
	return 0;
}

bool callgrind_events_costs(const struct callgrind_events *events, struct span text,
			    uint64_t *costs)
{
	struct callgrind_words words = callgrind_words_of(text);
	size_t count = 0;
	while (!callgrind_at_end(&words)) {
		if (count == events->column_count || !callgrind_number(&words, &costs[count]))
			return false;
		if (words.at < words.end && *words.at != ' ' && *words.at != '\t')
			return false;
		count++;
	}
	for (; count < events->column_count; count++)
		costs[count] = 0;
	return true;
}

static uint32_t event_named(const struct profile *profile, uint32_t name)
{
	const struct table *table = profile_table(profile, PROFILE_EVENT);
	for (size_t row = 0; row < table->count; row++)
		if (span_equal(profile_event(profile, row + 1).name, profile_bytes(profile, name)))
			return (uint32_t)row + 1;
	return 0;
}

static int add_term(struct profile *profile, uint32_t derived, uint32_t event, uint64_t factor,
		    size_t rows)
{
	for (size_t row = 0; row < rows; row++) {
		/* adding moves the rows */
		const struct table *flat = profile_table(profile, PROFILE_FLAT);
		const uint64_t *keys = table_keys(flat, row);
		struct cell cell = { 0 };
		if (keys[FLAT_EVENT] != event)
			continue;
		if (__builtin_mul_overflow(table_values(flat, row)[CELL_ESTIMATE], factor,
					   &cell.estimate))
			return -EOVERFLOW;
		const struct profile_frame leaf = { FRAME_IP, (uint32_t)keys[FLAT_IMAGE],
						    keys[FLAT_VADDR], (uint32_t)keys[FLAT_NAME] };
		if (cell.estimate &&
		    profile_add_flat(profile, derived, (uint32_t)keys[FLAT_CONTEXT], &leaf, &cell) <
			    0)
			return -ENOMEM;
	}
	return 0;
}

static int derive(const struct callgrind_formula *formula, struct profile *profile, bool *known)
{
	uint32_t terms[CALLGRIND_MAX_TERMS];
	*known = event_named(profile, formula->name) == 0;
	for (size_t i = 0; *known && i < formula->count; i++)
		*known = (terms[i] = event_named(profile, formula->terms[i].name)) != 0;
	if (!*known)
		return 0;
	uint32_t derived;
	if (add_event(profile, profile_bytes(profile, formula->name), ORIGIN_ESTIMATED, &derived) <
	    0)
		return -ENOMEM;
	size_t rows = profile_table(profile, PROFILE_FLAT)->count;
	for (size_t i = 0; i < formula->count; i++) {
		int ret = add_term(profile, derived, terms[i], formula->terms[i].factor, rows);
		if (ret < 0)
			return ret;
	}
	return 0;
}

int callgrind_events_derive(const struct callgrind_events *events, struct profile *profile,
			    struct span *left_out)
{
	*left_out = (struct span){ NULL, 0 };
	for (size_t i = 0; i < events->formula_count; i++) {
		bool known;
		int ret = derive(&events->formulas[i], profile, &known);
		if (ret < 0)
			return ret;
		if (!known && !left_out->size)
			*left_out = profile_bytes(profile, events->formulas[i].name);
	}
	return 0;
}
