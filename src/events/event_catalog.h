/*
 * event_catalog - every event that -e accepts, with what it counts and whether this
 * machine counts it (each is opened once, for this thread, and closed).
 *
 * A catalog owns its text.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "machine/event.h"

struct pmu_list;

enum catalog_section {
	CATALOG_HARDWARE,
	CATALOG_SOFTWARE,
	CATALOG_CACHE,
	CATALOG_RAW,
	CATALOG_SYSFS,
	CATALOG_PFM
};

struct catalog_item {
	enum catalog_section section;
	const char *pmu;   /* of sysfs, or libpfm4's name for the model; "" elsewhere */
	const char *name;  /* as -e accepts it */
	const char *alias; /* "" when there is none */
	const char *description;
	const char *detail; /* of a libpfm4 event's unit mask; "" elsewhere */
	enum event_cycles cycles;
	int code;     /* 0: counted here; else the negative errno value of opening */
	bool foreign; /* of another CPU model: not tried */
	bool pattern; /* a form of names, not an event: not tried */
};

struct event_catalog {
	struct arena arena;
	struct catalog_item *items; /* by section, then in its own order */
	size_t count;
	size_t capacity;
};

/* `all` adds libpfm4's events of every other CPU model (some 100000). 0 or -ENOMEM. */
int event_catalog_read(const struct pmu_list *pmus, bool all, struct event_catalog *catalog);
void event_catalog_release(
	struct event_catalog *catalog); /* also right for a zeroed one, and for CLEANUP() */

/* Whether all words match the item: one with *, ? or [ as a pattern of the whole name or alias,
 * others anywhere in name, alias, PMU, description or detail. Case does not matter. */
bool catalog_item_matches(const struct catalog_item *item, char *const *words, size_t count);

/*
 * Opens the event once, for this thread or, if it counts whole sockets, for a CPU; for
 * user code alone if the kernel's is not allowed. 0 or the negative errno value. The
 * kernel opens most event numbers, and one that the PMU does not have counts 0; where sysfs
 * lists those that exist (Arm's common events) the others give -ENOENT.
 */
int event_try(const struct pmu_list *pmus, const struct event *event);
