/*
 * resolver_options - where names may be looked for.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct resolver_options {
	const char *symfs;	/* look for files below this folder first; NULL: none */
	const char *debug_root; /* NULL: /usr/lib/debug */
	const char *perf_cache; /* perf's own binaries by build-id, "~/.debug"; NULL: none */
	bool stash_only;	/* read no file of this machine */
	bool without_code;	/* the code of procedures is not needed: files are read faster */
	bool names_only; /* neither code nor lines nor inlined functions are needed: faster yet */
	uint64_t read_time_ns;	/* for finding and reading files; 0: LOCAL_FILES_TIME_NS */
	bool debuginfod;	/* ask the servers of $DEBUGINFOD_URLS for what is missing */
};
