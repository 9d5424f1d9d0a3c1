/*
 * event_pfm - event names of libpfm4. Its header has its own copy of the
 * perf_event interface, so it is included by event_pfm.c alone.
 *
 * libpfm4 keeps process-wide tables for the CPU that we run on; they are set up at
 * the first call. Not for use by two threads at once.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;

struct pfm_encoding {
	uint32_t type;
	uint64_t config, config1, config2;
	unsigned int precise;
	bool exclude_user, exclude_kernel;
	char pmu[64];	 /* libpfm4's name: "amd64_fam19h_zen4" */
	char event[128]; /* without umasks */
};

/* 0; -ENOENT when libpfm4 does not know the name; -EINVAL with its reason in *err when it is used
 * wrongly. */
int pfm_event_encode(const char *name, struct pfm_encoding *encoding, struct error *err);

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
