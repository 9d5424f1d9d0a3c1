/*
 * event_namer - names of events besides the kernel's own, as two questions, so that who counts
 * needs no library that answers them. events/pfm_names.h answers with libpfm4's.
 *
 * Does not include <linux/perf_event.h>: libpfm4's headers have their own copy of it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct error;

struct event_encoding {
	uint32_t type;
	uint64_t config, config1, config2;
	unsigned int precise;
	bool exclude_user, exclude_kernel;
};

/* Returns non-zero to end the visits. */
typedef int (*event_name_visit)(void *context, const char *name);

struct event_namer {
	/* 0; -ENOENT when the name is not known; -EINVAL, when it is used wrongly, and -ENOMEM
	   with the reason in *err. `names` is the namer's own. */
	int (*encode)(const void *names, const char *name, struct event_encoding *encoding,
		      struct error *err);
	/* Calls `visit` for every name that this machine has. 0 or what a visit ended with. */
	int (*each)(const void *names, event_name_visit visit, void *context);
	const void *names; /* what the functions are given */
};
