/*
 * topdown_encoding - where terms of events, as sysfs writes them, stand in perf_event_attr.config.
 * Internal to src/machine: for those who count without asking sysfs; event_list_parse() asks it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

enum topdown_encoding {
	TOPDOWN_ENCODING_UNKNOWN,
	TOPDOWN_ENCODING_INTEL,
	TOPDOWN_ENCODING_AMD,
	TOPDOWN_ENCODING_ARM,
};

/* "intel", "amd", "arm". */
enum topdown_encoding topdown_encoding_named(struct span name);
/* "event=0x9c,umask=0x01". False when a term makes no sense there: *wrong is it. */
bool topdown_encode(enum topdown_encoding encoding, struct span terms, uint64_t *config,
		    struct span *wrong);
