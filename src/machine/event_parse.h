/*
 * event_parse - shared by the files that read event text: where we are in it,
 * and how a mistake is told. Internal to src/machine.
 */
#pragma once

#include <stddef.h>

#include "machine/event.h"
#include "machine/pmu.h"

struct event_parser {
	struct event_list *list;
	const struct pmu_list *pmus;
	unsigned int options;
	const char *text; /* all of it, for positions */
	struct error *err;
};

/*
 * Says "SENTENCE (character N of 'TEXT')"; the position is left out when `at` is the
 * first character, or NULL. Returns `code`.
 */
__attribute__((format(printf, 4, 5))) int event_parse_error(const struct event_parser *parser,
							    int code, const char *at,
							    const char *format, ...);

/*
 * Sets the event's config words (and period, frequency, name) from the terms
 * between the slashes of "pmu/.../": fields of the PMU, its events, and config=, config1=,
 * config2=, name=, period=, freq=. event->unit and scale come from the PMU's event.
 */
int event_terms_resolve(const struct event_parser *parser, const struct pmu *pmu, const char *terms,
			size_t size, struct event *event);

/* Sets event->cycles, and event->unit where it is NULL, from what the PMU counts under this config.
 */
void event_classify(const struct pmu *pmu, struct event *event);
