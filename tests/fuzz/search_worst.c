/*
 * search_worst - looks for the input of an importer that costs most for its size:
 * memory, processor time, or bytes of folded text for each byte read. An
 * evolutionary search: of some inputs, the seeds at first, one is changed and kept
 * when it costs more than the cheapest. The memory is what the budget counts
 * (base/budget.h), without limits but for 1 GiB; so this needs a build without sanitizers.
 *
 * usage: search_worst FORMAT memory|time|output SECONDS FILE SEED...
 *
 * FORMAT as `culprit import --format` has it. A seed's first byte is left out where its name lies
 * in a folder of fuzzer's seeds ("seeds/"). Writes the worst input to FILE and prints a line:
 * format, objective, executions, bytes, peak memory, CPU time in us, bytes of folded text.
 * The changes are those that make records distinct and many: blocks are repeated, each
 * time with a byte counted up; removed; taken from others; numbers and digits replaced.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/budget.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/small_file.h"
#include "import/importer.h"
#include "profile/profile.h"

#define INPUT_MAX_BYTES (64u << 10)
#define FIXED_BYTES                                                                                \
	4096 /* what an input counts for besides, so that nearly empty ones do not win */
#define FIXED_MEMORY (128u << 10) /* which readers take for a start */
#define POPULATION   24
#define MEMORY_BYTES (UINT64_C(1) << 30)
#define ADDRESS_TEXT 20 /* of a frame without a name */

enum objective { BY_MEMORY, BY_TIME, BY_OUTPUT };

struct cost {
	uint64_t memory_bytes, time_ns, output_bytes;
};

struct input {
	uint8_t *bytes;
	size_t size;
	struct cost cost;
	double score;
};

static uint64_t cpu_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* What `export --format folded` would write, but for the names that binaries have. */
static uint64_t folded_bytes(const struct profile *profile)
{
	const struct table *nodes = profile_table(profile, PROFILE_NODE);
	const struct table *stacks = profile_table(profile, PROFILE_STACK);
	uint64_t *lengths = calloc(nodes->count + 1, sizeof(*lengths));
	uint64_t sum = 0;
	for (size_t i = 0; lengths && i < nodes->count; i++) {
		const uint64_t *keys = table_keys(nodes, i);
		uint64_t name = keys[NODE_NAME] ? profile_bytes(profile, keys[NODE_NAME]).size
						: ADDRESS_TEXT;
		lengths[i + 1] = lengths[keys[NODE_PARENT]] + name + 1;
	}
	for (size_t i = 0; lengths && i < stacks->count; i++)
		sum += lengths[table_keys(stacks, i)[STACK_NODE]];
	free(lengths);
	return sum;
}

static struct cost cost_of(const struct importer *format, const uint8_t *bytes, size_t size)
{
	struct budget_limits limits = BUDGET_LIMITLESS;
	const struct import_options options = { .force = true };
	struct cost cost = { 0 };
	struct profile *profile = NULL;
	struct profile *sorted = NULL;
	void *reader = NULL;
	limits.memory_bytes = MEMORY_BYTES;
	budget_open(&limits);
	uint64_t start_ns = cpu_ns();
	if (format->open(&options, &reader) == 0 && format->feed(reader, bytes, size, NULL) == 0 &&
	    format->finish(reader, &profile, NULL) == 0 && profile_canonical(profile, &sorted) == 0)
		cost.output_bytes = folded_bytes(sorted);
	cost.time_ns = cpu_ns() - start_ns;
	cost.memory_bytes = budget_peak_bytes();
	profile_free(sorted);
	profile_free(profile);
	format->close(reader);
	budget_close();
	return cost;
}

static double score_of(enum objective by, const struct cost *cost, size_t size)
{
	double paid = by == BY_MEMORY ? (cost->memory_bytes > FIXED_MEMORY
						 ? (double)(cost->memory_bytes - FIXED_MEMORY)
						 : 0)
		      : by == BY_TIME ? (double)cost->time_ns
				      : (double)cost->output_bytes;
	return paid / (double)(size + FIXED_BYTES);
}

/* ---- changes */

struct change {
	uint8_t *bytes;
	size_t size;
	struct random_state random;
};

static size_t below(struct change *change, size_t limit)
{
	return limit ? (size_t)random_below(&change->random, limit) : 0;
}

/* A block's length: mostly short ones. */
static size_t length_below(struct change *change, size_t limit)
{
	size_t most = (size_t)1 << below(change, 14);
	size_t length = 1 + below(change, most);
	return length < limit ? length : limit;
}

static void insert(struct change *change, size_t at, const uint8_t *block, size_t length)
{
	if (length > INPUT_MAX_BYTES - change->size)
		return;
	memmove(change->bytes + at + length, change->bytes + at, change->size - at);
	memcpy(change->bytes + at, block, length);
	change->size += length;
}

/* A block is repeated behind itself; in each copy one byte is one more than in the one before. */
static void repeat(struct change *change)
{
	uint8_t block[1 << 14];
	if (!change->size)
		return;
	size_t at = below(change, change->size);
	size_t length = length_below(change, change->size - at);
	size_t counted = below(change, length + 1);
	size_t times = (size_t)1 << below(change, 9);
	memcpy(block, change->bytes + at, length);
	for (size_t i = 0; i < times; i++) {
		if (counted < length)
			block[counted]++;
		if (counted + 1 < length && !block[counted])
			block[counted + 1]++;
		insert(change, at + length, block, length);
	}
}

static void cut(struct change *change)
{
	if (change->size < 2)
		return;
	size_t at = below(change, change->size);
	size_t length = length_below(change, change->size - at);
	memmove(change->bytes + at, change->bytes + at + length, change->size - at - length);
	change->size -= length;
}

static void replace_number(struct change *change)
{
	static const uint64_t numbers[] = { 0,	  1,	    2,	      8,	  16,	     64,
					    127,  128,	    255,      4096,	  65535,     65536,
					    1000, 1u << 24, 1u << 31, UINT32_MAX, UINT64_MAX };
	uint64_t number = numbers[below(change, sizeof(numbers) / sizeof(numbers[0]))];
	size_t width = (size_t)1 << below(change, 4);
	if (change->size < width)
		return;
	memcpy(change->bytes + below(change, change->size - width + 1), &number, width);
}

static void replace_byte(struct change *change)
{
	static const char marks[] = "0123456789;:()[]{},+-*= \n\t/@";
	if (!change->size)
		return;
	uint8_t *byte = &change->bytes[below(change, change->size)];
	*byte = below(change, 2) ? (uint8_t)marks[below(change, sizeof(marks) - 1)]
				 : (uint8_t)below(change, 256);
}

static void splice(struct change *change, const struct input *other)
{
	if (!other->size)
		return;
	size_t from = below(change, other->size);
	size_t length = length_below(change, other->size - from);
	insert(change, below(change, change->size + 1), other->bytes + from, length);
}

static void change_some(struct change *change, const struct input *others, size_t count)
{
	size_t steps = 1 + below(change, 4);
	for (size_t i = 0; i < steps; i++)
		switch (below(change, 8)) {
		case 0:
		case 1:
		case 2:
			repeat(change);
			break;
		case 3:
			cut(change);
			break;
		case 4:
			replace_number(change);
			break;
		case 5:
			splice(change, &others[below(change, count)]);
			break;
		default:
			replace_byte(change);
		}
}

/* ---- the search */

static bool keep(struct input *into, const uint8_t *bytes, size_t size, const struct cost *cost,
		 double score)
{
	uint8_t *copy = malloc(size + 1);
	if (!copy)
		return false;
	memcpy(copy, bytes, size);
	free(into->bytes);
	*into = (struct input){ copy, size, *cost, score };
	return true;
}

static int by_score(const void *left, const void *right)
{
	double a = ((const struct input *)left)->score, b = ((const struct input *)right)->score;
	return (a < b) - (a > b);
}

static void consider(const struct importer *format, enum objective by, struct input *inputs,
		     size_t *count, const uint8_t *bytes, size_t size)
{
	struct cost cost = cost_of(format, bytes, size);
	double score = score_of(by, &cost, size);
	struct input *into = *count < POPULATION ? &inputs[*count] : &inputs[*count - 1];
	if (*count == POPULATION && score <= into->score)
		return;
	if (by == BY_TIME && *count == POPULATION) { /* not when the machine was busy just then */
		struct cost again = cost_of(format, bytes, size);
		if (again.time_ns < cost.time_ns)
			cost = again;
		score = score_of(by, &cost, size);
		if (score <= into->score)
			return;
	}
	if (keep(into, bytes, size, &cost, score))
		*count += *count < POPULATION;
	qsort(inputs, *count, sizeof(*inputs), by_score);
}

static int write_worst(const char *path, const struct input *worst)
{
	FILE *file = fopen(path, "wb");
	bool fine = file && fwrite(worst->bytes, 1, worst->size, file) == worst->size;
	if (file && fclose(file) != 0)
		fine = false;
	if (!fine)
		fprintf(stderr, "cannot write '%s': %s\n", path, strerror(errno));
	return fine ? 0 : 1;
}

int main(int argc, char **argv)
{
	static const char *const objectives[] = { "memory", "time", "output" };
	static uint8_t room[INPUT_MAX_BYTES];
	struct input inputs[POPULATION] = { 0 };
	const struct importer *format = argc > 5 ? importer_named(argv[1]) : NULL;
	size_t by = 0;
	while (format && by < 3 && strcmp(objectives[by], argv[2]) != 0)
		by++;
	if (!format || by == 3) {
		fprintf(stderr, "usage: %s FORMAT memory|time|output SECONDS FILE SEED...\n",
			argv[0]);
		return 2;
	}
	size_t count = 0;
	for (int i = 5; i < argc; i++) {
		struct buffer seed = { 0 };
		size_t skipped = strstr(argv[i], "seeds/") ? 1 : 0;
		if (small_file_read(argv[i], INPUT_MAX_BYTES, &seed) == 0 && seed.size > skipped)
			consider(format, (enum objective)by, inputs, &count, seed.data + skipped,
				 seed.size - skipped);
		buffer_release(&seed);
	}
	if (!count) {
		fprintf(stderr, "no seed of %s could be read\n", argv[1]);
		return 1;
	}
	struct change change = { .bytes = room, .random = random_seed(1) };
	uint64_t executions = 0;
	uint64_t end_ns = clock_realtime_ns() + strtoull(argv[3], NULL, 10) * 1000000000u;
	while (clock_realtime_ns() < end_ns) {
		const struct input *parent = &inputs[below(&change, below(&change, count) + 1)];
		memcpy(room, parent->bytes, parent->size);
		change.size = parent->size;
		change_some(&change, inputs, count);
		consider(format, (enum objective)by, inputs, &count, room, change.size);
		executions++;
	}
	const struct cost *cost = &inputs[0].cost;
	printf("%s %s %" PRIu64 " %zu %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", argv[1], argv[2],
	       executions, inputs[0].size, cost->memory_bytes, cost->time_ns / 1000,
	       cost->output_bytes);
	int status = write_worst(argv[4], &inputs[0]);
	for (size_t i = 0; i < count; i++)
		free(inputs[i].bytes);
	return status;
}
