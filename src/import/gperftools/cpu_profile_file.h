/*
 * cpu_profile_file - the parts of a CPU profile as gperftools writes it: a header
 * of words, samples (how often, how deep, addresses from the leaf on), a trailer,
 * then the process's mappings as /proc/self/maps has them. Words have 4 or 8
 * bytes in either order. `pprof --raw` puts a text with the names of the addresses
 * before all that. Agents in Java write names instead of mappings.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

struct error;

struct cpu_words {
	const uint8_t *start;
	size_t size, at;
	unsigned width; /* bytes a word */
	bool big;
};

struct cpu_profile_head {
	struct span symbols;	/* "ADDRESS NAME" lines; empty: none */
	struct cpu_words words; /* at the first sample */
	uint64_t period_us;
	bool java; /* "addresses" are numbers of names, which follow the samples */
};

struct cpu_sample {
	uint64_t count;
	size_t depth;
	size_t first; /* of its addresses: read them with cpu_word_at() */
};

/* 0; -EPROTO: no such profile, or a kind of it that is not read; -EBADMSG: cut off. */
int cpu_profile_head(struct span bytes, struct cpu_profile_head *head, struct error *err);
bool cpu_profile_looks_like(const void *bytes, size_t size);

uint64_t cpu_word_at(const struct cpu_words *words, size_t at);
/*
 * The next sample. 1; 0 at the trailer, which is passed; -EBADMSG for a damaged or cut off one,
 * which is not passed (*err says where).
 */
int cpu_next_sample(struct cpu_words *words, struct cpu_sample *sample, struct error *err);

struct cpu_mapping {
	uint64_t start, end, offset;
	bool executable;
	struct span path; /* empty: anonymous */
};
/* A line of /proc/PID/maps. */
bool cpu_mapping_parse(struct span line, struct cpu_mapping *mapping);
/* "0x401000 outer--inner", as pprof --raw writes it. */
bool cpu_symbol_parse(struct span line, uint64_t *address, struct span *names);
/* "com.example.run (Run.java:12)", as Java agents name a frame: the function alone. */
struct span cpu_java_name(struct span text);
