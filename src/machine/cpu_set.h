/*
 * cpu_set - a set of logical CPU numbers, as the kernel writes it: "0-3,8".
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;

#define CPU_SET_LIMIT 8192 /* CONFIG_NR_CPUS is at most this on x86-64 and arm64 */

struct cpu_set {
	uint64_t words[CPU_SET_LIMIT / 64];
};

static inline bool cpu_set_has(const struct cpu_set *set, size_t cpu)
{
	return cpu < CPU_SET_LIMIT && (set->words[cpu / 64] >> (cpu % 64) & 1);
}

static inline void cpu_set_add(struct cpu_set *set, size_t cpu)
{
	if (cpu < CPU_SET_LIMIT)
		set->words[cpu / 64] |= UINT64_C(1) << (cpu % 64);
}

/*
 * Reads "0-3,8" or "0-7:2/4" (2 of every 4) into *set; an empty text is the
 * empty set. Spaces and a newline at the end are skipped. Returns 0, or -EINVAL
 * with the text and the position in *err; *set is then empty.
 */
int cpu_set_parse(const char *text, struct cpu_set *set, struct error *err);
/* The shortest such text, cut to `size`; returns its full length. */
size_t cpu_set_format(const struct cpu_set *set, char *text, size_t size);
size_t cpu_set_count(const struct cpu_set *set);
bool cpu_set_empty(const struct cpu_set *set);
bool cpu_set_equal(const struct cpu_set *a, const struct cpu_set *b);
/* The first member that is not below `from`, or CPU_SET_LIMIT: for loops. */
size_t cpu_set_next(const struct cpu_set *set, size_t from);
