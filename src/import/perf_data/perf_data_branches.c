/*
 * What a sample has beside its place: the branches that were taken before it, with flags
 * as perf_branch_entry of linux/perf_event.h has them; the latency of a memory access, and
 * where its data came from.
 */
#include <errno.h>

#include "import/perf_data/perf_data_private.h"

#define FLAG_MISPREDICTED 1u
#define CYCLES_SHIFT	  4
#define CYCLES_MASK	  0xffffu
#define SPEC_SHIFT	  24
#define SPEC_MASK	  3u
#define SPEC_WRONG_PATH	  1u

struct branch {
	struct located from, to;
	uint64_t flags;
};

static int need_table(struct table **table, enum profile_table which)
{
	size_t count;
	const struct column *columns = profile_columns(which, &count);
	if (!*table)
		*table = table_new(profile_table_name(which), columns, count);
	return *table ? 0 : -ENOMEM;
}

/* Branches have no mode: addresses of the kernel have the highest bit set. */
static enum code_mode mode_of(uint64_t address)
{
	return address >> 63 ? CODE_KERNEL : CODE_USER;
}

static int locate(struct perf_data *data, struct process *process, uint64_t address,
		  struct located *place)
{
	return perf_places_locate(&data->places, process, mode_of(address), address, FRAME_IP,
				  place);
}

static int add_edge(struct perf_data *data, uint32_t event, uint32_t context,
		    const struct branch *branch)
{
	const uint64_t keys[] = {
		[EDGE_EVENT] = event + 1,
		[EDGE_CONTEXT] = context,
		[EDGE_ORIGIN] = ORIGIN_IMPORTED,
		[EDGE_FROM_IMAGE] = branch->from.image,
		[EDGE_FROM_VADDR] = branch->from.vaddr,
		[EDGE_FROM_NAME] = 0,
		[EDGE_TO_IMAGE] = branch->to.image,
		[EDGE_TO_VADDR] = branch->to.vaddr,
		[EDGE_TO_NAME] = 0,
	};
	const uint64_t values[] = { 1, branch->flags & FLAG_MISPREDICTED };
	return table_add(data->edges, keys, values, NULL);
}

/* The straight run from where one branch went to where the next one left. */
static int add_range(struct perf_data *data, uint32_t event, uint32_t context,
		     const struct branch *older, const struct branch *newer)
{
	if (older->to.image != newer->from.image || older->to.vaddr > newer->from.vaddr ||
	    older->to.cause != UNKNOWN_NONE)
		return 0; /* between them was no straight run: an interrupt, another thread */
	uint64_t cycles = newer->flags >> CYCLES_SHIFT & CYCLES_MASK;
	const uint64_t keys[] = {
		[RANGE_EVENT] = event + 1,	  [RANGE_CONTEXT] = context,
		[RANGE_ORIGIN] = ORIGIN_IMPORTED, [RANGE_IMAGE] = newer->from.image,
		[RANGE_FIRST] = older->to.vaddr,  [RANGE_LAST] = newer->from.vaddr,
	};
	const uint64_t values[] = { 1, cycles, cycles * cycles, 0 };
	return table_add(data->ranges, keys, values, NULL);
}

int perf_data_branches(struct perf_data *data, uint32_t event, uint32_t context,
		       struct process *process, const struct perf_record *record)
{
	const struct perf_words *words = &record->sample.branches;
	struct branch newer = { 0 };
	bool has_newer = false;
	if (need_table(&data->edges, PROFILE_EDGE) < 0 ||
	    need_table(&data->ranges, PROFILE_RANGE) < 0)
		return -ENOMEM;
	for (uint64_t i = 0; i + 2 < words->count; i += 3) { /* newest first */
		struct branch branch = { .flags = perf_word(words, i + 2) };
		uint64_t from = perf_word(words, i), to = perf_word(words, i + 1);
		if ((branch.flags >> SPEC_SHIFT & SPEC_MASK) == SPEC_WRONG_PATH) {
			data->counts.wrong_path++; /* fetched, then thrown away: not taken */
			continue;
		}
		if (!from && !to)
			continue;
		int ret = locate(data, process, from, &branch.from);
		if (ret == 0)
			ret = locate(data, process, to, &branch.to);
		if (ret == 0)
			ret = add_edge(data, event, context, &branch);
		if (ret == 0 && has_newer)
			ret = add_range(data, event, context, &branch, &newer);
		if (ret < 0)
			return ret;
		newer = branch;
		has_newer = true;
	}
	return 0;
}

static int add_value(struct perf_data *data, const uint64_t *place, enum value_of kind,
		     uint64_t bucket, uint64_t weight)
{
	const uint64_t keys[] = {
		[VALUE_EVENT] = place[VALUE_EVENT],
		[VALUE_CONTEXT] = place[VALUE_CONTEXT],
		[VALUE_IMAGE] = place[VALUE_IMAGE],
		[VALUE_VADDR] = place[VALUE_VADDR],
		[VALUE_KIND] = kind,
		[VALUE_BUCKET] = bucket,
	};
	unsigned __int128 square = (unsigned __int128)weight * weight;
	const uint64_t values[] = { [CELL_SAMPLES] = 1,
				    [CELL_ESTIMATE] = weight,
				    [CELL_SQUARES_LOW] = (uint64_t)square,
				    [CELL_SQUARES_HIGH] = (uint64_t)(square >> 64) };
	return table_add(data->values, keys, values, NULL);
}

/* Cycles, by the power of two that they are at least; 0 is none. */
static int add_cycles(struct perf_data *data, const uint64_t *place, enum value_of kind,
		      uint64_t cycles, uint64_t weight)
{
	return cycles ? add_value(data, place, kind, (uint64_t)(63 - __builtin_clzll(cycles)),
				  weight)
		      : 0;
}

/* WEIGHT is one latency; WEIGHT_STRUCT has three: in the lowest 32 bits, the next 16, the highest
 * 16 (perf_event_open(2)). */
static int add_latencies(struct perf_data *data, const uint64_t *place, uint64_t type,
			 uint64_t latencies, uint64_t weight)
{
	bool several = type & PERF_SAMPLE_WEIGHT_STRUCT;
	int ret = add_cycles(data, place, VALUE_LATENCY,
			     several ? latencies & UINT32_MAX : latencies, weight);
	if (ret == 0 && several)
		ret = add_cycles(data, place, VALUE_INSTRUCTION_LATENCY,
				 latencies >> 32 & UINT16_MAX, weight);
	if (ret == 0 && several)
		ret = add_cycles(data, place, VALUE_RETIRE_LATENCY, latencies >> 48, weight);
	return ret;
}

int perf_data_values(struct perf_data *data, uint32_t event, uint32_t context,
		     struct process *process, const struct perf_record *record)
{
	const struct perf_event_attr *attr = &data->events.list[event].attr;
	const struct perf_sample *sample = &record->sample;
	struct located leaf;
	if (need_table(&data->values, PROFILE_VALUE) < 0)
		return -ENOMEM;
	int ret = perf_places_locate(&data->places, process, code_mode_of_misc(record->misc),
				     sample->ip, FRAME_IP, &leaf);
	if (ret < 0)
		return ret;
	const uint64_t place[] = { [VALUE_EVENT] = event + 1,
				   [VALUE_CONTEXT] = context,
				   [VALUE_IMAGE] = leaf.image,
				   [VALUE_VADDR] = leaf.vaddr };
	uint64_t weight =
		attr->sample_type & PERF_SAMPLE_PERIOD ? sample->period : attr->sample_period;
	if (attr->sample_type & PERF_SAMPLE_WEIGHT_TYPE)
		ret = add_latencies(data, place, attr->sample_type, sample->weight, weight);
	if (ret == 0 && attr->sample_type & PERF_SAMPLE_DATA_SRC && sample->data_source)
		ret = add_value(data, place, VALUE_DATA_SOURCE, sample->data_source, weight);
	return ret;
}
