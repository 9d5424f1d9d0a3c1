/*
 * pfm_names - event names of libpfm4. Its header has its own copy of the
 * perf_event interface, so it is included by pfm_names.c alone.
 *
 * libpfm4 keeps process-wide tables for the CPU of this machine, which the first call
 * sets up. Not for use by two threads at once.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "machine/event_namer.h"

/* For event_list_parse(). */
extern const struct event_namer pfm_names;

struct pfm_description {
	const char *pmu;      /* "amd64_fam19h_zen4" */
	const char *pmu_text; /* "AMD64 Fam19h Zen4" */
	bool present;	      /* a PMU of this machine's model */
	bool core;
	const char *name;	 /* "RETIRED_INSTRUCTIONS" or "INST_RETIRED:ANY_P" */
	const char *description; /* of the event */
	const char *detail;	 /* of its unit mask; "" when it has none */
	uint64_t code;
};

/*
 * Calls `visit` for every event and every unit mask of the PMUs that are present, or with
 * `all` of every PMU that libpfm4 knows, until it returns non-zero, which is passed on. The strings
 * live until `visit` returns. The generic events of the pseudo PMU "perf" are left out: they are
 * our own hardware, software and cache events.
 */
typedef int (*pfm_visit)(void *context, const struct pfm_description *description);
int pfm_event_list(bool all, pfm_visit visit, void *context);
