/*
 * bench-table - how the table that samples are counted in would do, were it made otherwise (DCPI,
 * SOSP'97, 5.4): reads a trace, which `perf script -F comm,cpu,time,ip,dso` prints, and counts it
 * in tables of several sizes, ways, hashes, and ways to replace an entry, one a CPU, emptied once a
 * second of the trace. Prints how many samples pushed an entry out and how many samples came to an
 * entry that was handed out.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/count_of.h"
#include "base/hash.h"

#define CPUS_MOST  64
#define WAYS_MOST  8
#define NAMES_MOST 65536u

struct sample {
	uint64_t place, rest; /* as the kernel's side would have them */
	uint32_t second;
	uint16_t cpu;
};

struct trace {
	struct sample *list;
	size_t count, capacity;
};

/* Numbers names as they come; those with the same hash are one. */
static uint64_t number_of(uint64_t *known, const char *name, size_t size)
{
	uint64_t hash = 1469598103934665603u;
	for (size_t i = 0; i < size; i++)
		hash = (hash ^ (unsigned char)name[i]) * 1099511628211u;
	for (uint32_t at = (uint32_t)(hash % NAMES_MOST), number = 0;;
	     at = (at + 1) % NAMES_MOST, number++) {
		if (known[2 * at] == hash)
			return known[2 * at + 1];
		if (known[2 * at])
			continue;
		known[2 * at] = hash;
		known[2 * at + 1] = ++known[2 * (size_t)NAMES_MOST];
		return known[2 * at + 1];
	}
}

/* "comm  [001]  12.345678:  7fff01 (/usr/lib/x.so)"; the name may hold anything. */
static bool parse(char *line, struct sample *sample)
{
	static uint64_t contexts[2 * NAMES_MOST + 1], images[2 * NAMES_MOST + 1];
	char *image = strrchr(line, '('), *cpu = strrchr(line, '[');
	unsigned number;
	double seconds;
	uint64_t address;
	if (!image || !cpu || image < cpu ||
	    sscanf(cpu, "[%u] %lf: %" SCNx64, &number, &seconds, &address) != 3)
		return false;
	uint64_t context = number_of(contexts, line, (size_t)(cpu - line));
	uint64_t file = address >> 63 ? 0 : number_of(images, image, strcspn(image, ")")) + 1;
	sample->place = (address & ((UINT64_C(1) << 48) - 1)) | context << 54;
	sample->rest = file << 24 | context >> 10 << 44;
	sample->second = (uint32_t)seconds;
	sample->cpu = (uint16_t)(number % CPUS_MOST);
	return true;
}

static void read_trace(struct trace *trace)
{
	char line[4096];
	struct sample sample;
	while (fgets(line, sizeof(line), stdin)) {
		if (!parse(line, &sample))
			continue;
		if (trace->count == trace->capacity) {
			trace->capacity = trace->capacity ? 2 * trace->capacity : 65536;
			trace->list =
				realloc(trace->list, trace->capacity * sizeof(*trace->list));
			if (!trace->list)
				abort();
		}
		trace->list[trace->count++] = sample;
	}
}

static uint64_t hash_shipped(const struct sample *sample)
{
	return (sample->place ^ (sample->rest >> 24) * 0xff51afd7ed558ccdu) *
	       0x9e3779b97f4a7c15u;
}

static uint64_t hash_once(const struct sample *sample)
{
	return (sample->place ^ sample->rest >> 24 << 20) * 0x9e3779b97f4a7c15u;
}

static uint64_t hash_twice(const struct sample *sample)
{
	return hash_u64(hash_u64(sample->place) ^ sample->rest >> 24);
}

/* Without a multiplication: the parts folded into the upper bits. */
static uint64_t hash_folded(const struct sample *sample)
{
	uint64_t low = sample->place >> 2 ^ sample->place >> 16 ^ sample->rest >> 24 ^
		       sample->place >> 54;
	return low << 48;
}

enum policy { IN_TURN, TO_FRONT };

struct shape {
	unsigned ways, lines_bits;
	enum policy policy;
	uint64_t (*hash)(const struct sample *sample);
	const char *hash_name;
};

struct entry {
	uint64_t place, rest;
	bool used;
};

struct outcome {
	uint64_t pushed_out, entries;
};

static void empty(struct entry *entries, size_t count, struct outcome *outcome)
{
	for (size_t i = 0; i < count; i++) {
		outcome->entries += entries[i].used;
		entries[i].used = false;
	}
}

static void count_sample(const struct shape *shape, struct entry *line, unsigned *turn,
			 const struct sample *sample, struct outcome *outcome)
{
	struct entry made = { sample->place, sample->rest, true };
	unsigned at = 0;
	while (at < shape->ways && line[at].used &&
	       (line[at].place != made.place || line[at].rest != made.rest))
		at++;
	bool found = at < shape->ways && line[at].used;
	if (at == shape->ways) {
		outcome->pushed_out++;
		outcome->entries++;
		at = shape->policy == IN_TURN ? (*turn)++ % shape->ways : shape->ways - 1;
	}
	if (shape->policy == TO_FRONT && at > 0) {
		/* DCPI's: what was found or is new changes places with the first */
		struct entry first = line[0];
		line[0] = made;
		line[at] = first;
	} else if (!found) {
		line[at] = made;
	}
}

static struct outcome simulate(const struct trace *trace, const struct shape *shape)
{
	struct outcome outcome = { 0 };
	size_t each = (size_t)shape->ways << shape->lines_bits;
	struct entry *entries = calloc(CPUS_MOST * each, sizeof(*entries));
	unsigned turns[CPUS_MOST] = { 0 };
	uint32_t second = trace->count ? trace->list[0].second : 0;
	if (!entries)
		abort();
	for (size_t i = 0; i < trace->count; i++) {
		const struct sample *sample = &trace->list[i];
		if (sample->second != second) {
			empty(entries, CPUS_MOST * each, &outcome);
			second = sample->second;
		}
		size_t line = (size_t)(shape->hash(sample) >> (64 - shape->lines_bits));
		count_sample(shape, entries + sample->cpu * each + line * shape->ways,
			     &turns[sample->cpu], sample, &outcome);
	}
	empty(entries, CPUS_MOST * each, &outcome);
	free(entries);
	return outcome;
}

static void print(const struct trace *trace, const struct shape *shape)
{
	struct outcome outcome = simulate(trace, shape);
	double count = (double)trace->count;
	printf("%4u  %6u  %-9s  %-8s  %11.3f  %10.2f\n", shape->ways, 1u << shape->lines_bits,
	       shape->policy == IN_TURN ? "in turn" : "to front", shape->hash_name,
	       100 * (double)outcome.pushed_out / count, count / (double)outcome.entries);
}

int main(void)
{
	static const struct {
		const char *name;
		uint64_t (*hash)(const struct sample *sample);
	} hashes[] = { { "shipped", hash_shipped },
		       { "once", hash_once },
		       { "twice", hash_twice },
		       { "folded", hash_folded } };
	struct trace trace = { 0 };
	read_trace(&trace);
	if (!trace.count) {
		fputs("bench-table: no samples; perf script -F comm,cpu,time,ip,dso prints them\n",
		      stderr);
		return 1;
	}
	printf("%zu samples\nways   lines  replaced   hash      pushed out %%  samples an entry\n",
	       trace.count);
	for (unsigned ways = 4; ways <= WAYS_MOST; ways += 2)
		for (unsigned bits = 8; bits <= 14; bits += 2)
			for (enum policy policy = IN_TURN; policy <= TO_FRONT; policy++)
				print(&trace, &(struct shape){ ways, bits, policy, hash_shipped,
							       "shipped" });
	for (size_t i = 1; i < COUNT_OF(hashes); i++)
		for (unsigned bits = 8; bits <= 14; bits += 2)
			print(&trace, &(struct shape){ 4, bits, IN_TURN, hashes[i].hash,
						       hashes[i].name });
	free(trace.list);
	return 0;
}
