/*
 * source - the row that says where a profile comes from: host, boot, kernel, CPU.
 */
#pragma once

#include <stdint.h>

struct profile;

struct source_facts {
	uint64_t epoch;	   /* number within the recording */
	uint64_t start_ns; /* since 1970 */
	uint64_t duration_ns;
	const char *labels; /* may be NULL */
};

/* The first line of /proc/sys/kernel/random/boot_id; "" when unreadable. `text` holds 40 bytes. */
void source_boot_id(char *text);
/* 0 or -ENOMEM. What cannot be read is absent. */
int source_add(struct profile *profile, const struct source_facts *facts);
