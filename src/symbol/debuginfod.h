/*
 * debuginfod - fetches executables and debug files by build-id from the servers
 * named in $DEBUGINFOD_URLS. It tells those servers what runs here, so it is used
 * only when the user asks. The library is loaded when it is first needed.
 */
#pragma once

#include <stdint.h>

#include "base/span.h"

struct error;
struct debuginfod;

enum debuginfod_what { DEBUGINFOD_EXECUTABLE, DEBUGINFOD_DEBUG_FILE };

/* Returns 0, or -ENOTSUP when libdebuginfod is not installed. */
int debuginfod_new(struct debuginfod **out, struct error *err);
void debuginfod_free(struct debuginfod *debuginfod);
/* A descriptor that the caller closes; -ENOENT when no server has it, or another negative errno. */
int debuginfod_open(struct debuginfod *debuginfod, struct span build_id, enum debuginfod_what what,
		    struct error *err);
