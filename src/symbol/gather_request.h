/*
 * gather_request - what may be asked for about the functions of a file that hold sampled
 * addresses, and how much of it there was. The reader (symbol/reader.h) passes it on to the
 * process that gathers (symbol/gather.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gather_what {
	GATHER_FUNCTIONS = 1, /* extents and names, of cold parts too */
	GATHER_CODE = 2,      /* bytes of these functions */
	GATHER_LINES = 4,     /* their lines and inlined frames, where debug information is */
	GATHER_FLOW = 8,      /* what it takes to follow their flow (gather_flow.h) */
	GATHER_ALL = 15,
};

struct gather_request {
	int fd, debug_fd;	/* debug_fd: the separate debug file, or -1 */
	const uint64_t *vaddrs; /* rising, of the file's own space */
	size_t count;
	unsigned int what; /* a set of enum gather_what */
};

struct gather_counts {
	uint64_t found;	    /* of the vaddrs asked for, inside a function */
	uint64_t named;	    /* inside one with a name */
	uint64_t lines;	    /* with a source line */
	uint64_t functions; /* all that the image's tables know */
	bool debug_refused; /* debug_fd was of another build */
	bool debug_damaged; /* there is debug information, and it cannot be read */
};
