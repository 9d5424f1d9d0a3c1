/*
 * debuginfod - fetches executables and debug files by build-id from the servers
 * named in $DEBUGINFOD_URLS. It tells those servers what runs here, so it is used
 * only when the user asks. The library is loaded when it is first needed. What servers
 * send has limits, which the variables below can change; those that are not set are from
 * then on.
 */
#pragma once

#include <stdint.h>

#include "base/span.h"

struct error;
struct debuginfod;

#define DEBUGINFOD_SIZE_VARIABLE "DEBUGINFOD_MAXSIZE"
#define DEBUGINFOD_TIME_VARIABLE "DEBUGINFOD_MAXTIME"
#define DEBUGINFOD_MOST_BYTES	 "2147483648" /* of a file */
#define DEBUGINFOD_MOST_SECONDS	 "120"	      /* of all downloads together */
#define DEBUGINFOD_STALL_SECONDS "30"	      /* for each 100 KB, as $DEBUGINFOD_TIMEOUT has it */

enum debuginfod_what { DEBUGINFOD_EXECUTABLE, DEBUGINFOD_DEBUG_FILE };

/* Returns 0, or -ENOTSUP when libdebuginfod is not installed. */
int debuginfod_new(struct debuginfod **out, struct error *err);
void debuginfod_free(struct debuginfod *debuginfod);
/* A descriptor that the caller closes; -ENOENT when no server has it, -ETIME when they took too
 * long, together or for this one, -EFBIG when it is too large, or another negative errno. */
int debuginfod_open(struct debuginfod *debuginfod, struct span build_id, enum debuginfod_what what,
		    struct error *err);
