/*
 * event_private - shared by the files that read event text: where we are in it, and how a mistake
 * is reported (event.c, which knows the grammar), what a name stands for (event_lookup.c), what the
 * terms between slashes say (event_terms.c), and which events become of it on the cores of this
 * machine (event_add.c). Internal to src/machine.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "machine/event.h"
#include "machine/pmu.h"

struct event_parser {
	struct event_list *list;
	const struct pmu_list *pmus;
	const struct event_namer *namer; /* NULL: none */
	const char *text;		 /* all of it, for positions */
	struct error *err;
};

/* One event as written, before it is known on how many core types it counts. */
struct written_event {
	const char *at;	  /* in the parser's text */
	const char *name; /* without modifiers */
	size_t name_size;
	char modifiers[32];
	bool marked;	       /* S is among its own modifiers, and not only among its group's */
	struct event event;    /* complete, but for what a core type adds */
	bool any_core;	       /* one event per core type */
	const char *bare;      /* name of a core PMU's sysfs event, or NULL */
	const struct pmu *pmu; /* that it names or is on; NULL for any_core and software */
	const struct pmu *alike[64]; /* further PMUs that the name stands for: uncore_imc_1, ... */
	size_t alike_count;
};

struct written_group {
	struct written_event *members;
	size_t count, capacity;
	bool braces;
};

/*
 * Appends what the group says to the parser's list: for each core type that has
 * all of it, or for the PMUs that it names. 0 or a negative errno value.
 */
int event_group_add(const struct event_parser *parser, const struct written_group *group);

/*
 * Says "SENTENCE (character N of 'TEXT')"; the position is left out when `at` is the
 * first character, or NULL. Returns `code`.
 */
__attribute__((format(printf, 4, 5))) int event_parse_error(const struct event_parser *parser,
							    int code, const char *at,
							    const char *format, ...);

/* Names without modifiers. */

/* Whether every kernel, or a core PMU of this machine, has the name; fills in *written what it
 * says. */
bool event_lookup_plain(const struct event_parser *parser, const char *name,
			struct written_event *written);
/* By the parser's namer, which there is. 0 or what its encode() returns, with *err filled. */
int event_lookup_by_namer(const struct event_parser *parser, const char *name,
			  struct written_event *written, struct error *err);
/* The PMUs that the name before a slash stands for: written->pmu and alike. 0, -ENOENT or -EINVAL
 * (too many). */
int event_lookup_pmus(const struct event_parser *parser, const char *name,
		      struct written_event *written);
/* Reports that nobody knows the event, and the nearest name that is known. -ENOENT. */
int event_lookup_failed(const struct event_parser *parser, const struct written_event *written,
			const char *name);

/*
 * Sets the event's config words (and period, frequency, name) from the terms
 * between the slashes of "pmu/.../": fields of the PMU, its events, and config=, config1=,
 * config2=, name=, period=, freq=. event->unit and scale come from the PMU's event.
 */
int event_terms_resolve(const struct event_parser *parser, const struct pmu *pmu, const char *terms,
			size_t size, struct event *event);

/* Sets event->cycles, event->slots, and event->unit where it is NULL, from what the PMU counts
 * under this config. */
void event_classify(const struct pmu *pmu, struct event *event);
