/*
 * source - the row that says where a profile comes from: host, boot, kernel, CPU.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct profile;

struct source; /* what stays the same from epoch to epoch */

struct source_facts {
	uint64_t epoch;	   /* number within the recording */
	uint64_t start_ns; /* since 1970 */
	uint64_t duration_ns;
	bool redact; /* leave the command line out, since it names files */
};

/* Reads the facts about the machine from some hundred files of /proc and /sys. NULL: out of memory.
 */
struct source *source_new(void);
void source_free(struct source *source); /* NULL does nothing */
/* Adds the row to `profile`; what could not be read is absent in it. 0 or -ENOMEM. */
int source_add(const struct source *source, const struct source_facts *facts,
	       struct profile *profile);
/* The first line of /proc/sys/kernel/random/boot_id; "" when unreadable. */
const char *source_boot_id(const struct source *source);
