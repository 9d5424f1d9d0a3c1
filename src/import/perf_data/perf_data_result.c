/*
 * From what was added up to a profile.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/sum.h"
#include "import/perf_data/jit_beside.h"
#include "import/perf_data/perf_data_event_rows.h"
#include "import/perf_data/perf_data_private.h"
#include "intake/cells_write.h"
#include "machine/cpu_model.h"
#include "profile/bill.h"
#include "profile/cgroup_names.h"

/* The profile that is made, and its rows for our numbers. */
struct result {
	struct perf_data *data;
	struct profile *profile;
	uint32_t *contexts, *events; /* rows, by number */
	uint64_t *counts;	     /* by event: sum of the counts in the rows written so far */
};

static void result_release(struct result *result)
{
	profile_free(result->profile);
	free(result->contexts);
	free(result->events);
	free(result->counts);
}

static int write_contexts(struct result *result)
{
	struct perf_data *data = result->data;
	result->contexts = calloc(data->context_count + 1, sizeof(*result->contexts));
	if (!result->contexts)
		return -ENOMEM;
	for (size_t i = 0; i < data->context_count; i++) {
		const struct perf_context *ours = &data->contexts[i];
		if (!ours->comm && !ours->thread && !ours->cgroup)
			continue; /* nothing is known of who ran: no context */
		const struct span group = byte_pool_get(&data->names, ours->cgroup);
		const struct profile_context context = {
			.comm = byte_pool_get(&data->names, ours->comm),
			.cgroup = group,
			.container = cgroup_container(group),
			.thread = byte_pool_get(&data->names, ours->thread),
		};
		int ret = profile_add_context(result->profile, &context, &result->contexts[i + 1]);
		if (ret < 0)
			return ret;
	}
	return 0;
}

/* The row of an image in the profile; only images that something refers to get one. */
static int need_image_row(struct result *result, uint32_t number, uint32_t *row)
{
	struct perf_places *places = &result->data->places;
	struct perf_image *image = &places->images.list[number - 1];
	int ret = 0;
	if (!image->row) {
		const struct perf_recording recording = perf_data_recording(result->data);
		ret = perf_here_identify(&result->data->here, &recording, places, image);
	}
	return ret < 0 ? ret : perf_images_write(&places->images, result->profile, number, row);
}

#define MINUTE_NS UINT64_C(60000000000)

/*
 * Names the boot, by the host and the minute of its start, where the file has both
 * clocks. Where it has not, nothing shows that processes of another recording are the
 * same: the name is made of the time of the first sample.
 */
static void name_boot(struct perf_data *data)
{
	const struct perf_data_machine *machine = &data->machine;
	struct span host = byte_pool_get(&data->names, machine->host);
	uint64_t started = machine->wall_ns > machine->wall_at_ns
				   ? (machine->wall_ns - machine->wall_at_ns) / MINUTE_NS
				   : hash_u64_stable(data->first_sample_ns);
	snprintf(data->places.images.boot, sizeof(data->places.images.boot), "%08" PRIx32,
		 (uint32_t)hash128_bytes(host.data, host.size).high ^
			 (uint32_t)(hash_u64_stable(started) >> 32));
}

static int image_for_cells(void *owner, uint32_t number, uint32_t *row, bool *is_new)
{
	struct result *result = owner;
	*is_new = !result->data->places.images.list[number - 1].row;
	return need_image_row(result, number, row);
}

static bool calls_exact(const void *owner, uint32_t number)
{
	const struct result *result = owner;
	return result->data->places.images.list[number - 1].calls_exact;
}

static struct cell cell_in_unit(const void *owner, uint32_t event, const struct cell *cell,
				uint64_t *before)
{
	const struct result *result = owner;
	return perf_unit_cell(&result->data->events.list[event].measure, cell, before);
}

static int write_cells(struct result *result)
{
	struct perf_data *data = result->data;
	const struct cells_rows rows = {
		.owner = result,
		.image = image_for_cells,
		.calls_exact = calls_exact,
		.measured = cell_in_unit,
		.contexts = result->contexts,
		.events = result->events,
		.event_count = data->events.count,
	};
	for (size_t i = 0; i < data->events.count; i++)
		result->events[i] = data->events.list[i].row;
	name_boot(data);
	return cells_write(&data->cells, &rows, result->profile);
}

/* The sums of a row of "value", in its event's unit. */
static const uint64_t *values_in_unit(struct result *result, const uint64_t *keys,
				      const uint64_t *values, uint64_t *sums)
{
	const struct cell counted = {
		.samples = values[CELL_SAMPLES],
		.estimate = values[CELL_ESTIMATE],
		.squares = values[CELL_SQUARES_LOW] | (unsigned __int128)values[CELL_SQUARES_HIGH]
							      << 64,
	};
	uint32_t event = (uint32_t)keys[VALUE_EVENT] - 1;
	const struct cell cell = cell_in_unit(result, event, &counted, &result->counts[event]);
	cells_put(&cell, sums);
	return sums;
}

/* Copies edges, ranges or values, with the profile's rows for our numbers. */
static int write_table(struct result *result, const struct table *ours, enum profile_table which)
{
	struct perf_data *data = result->data;
	struct table *to = result->profile->tables[which];
	uint64_t keys[TABLE_MAX_COLUMNS];
	memset(result->counts, 0, data->events.count * sizeof(*result->counts));
	for (size_t row = 0; ours && row < ours->count; row++) {
		const uint64_t *values = table_values(ours, row);
		uint64_t sums[] = { [CELL_SQUARES_HIGH] = 0 };
		size_t slot = 0;
		for (size_t i = 0; i < ours->column_count; i++) {
			if (ours->columns[i].rule != RULE_KEY)
				continue;
			uint64_t key = table_keys(ours, row)[slot];
			uint32_t image;
			if (ours->columns[i].type == COLUMN_EVENT)
				key = data->events.list[key - 1].row;
			else if (ours->columns[i].type == COLUMN_CONTEXT)
				key = result->contexts[key];
			else if (ours->columns[i].type == COLUMN_IMAGE) {
				if (need_image_row(result, (uint32_t)key, &image) < 0)
					return -ENOMEM;
				key = image;
			}
			keys[slot++] = key;
		}
		if (which == PROFILE_VALUE)
			values = values_in_unit(result, table_keys(ours, row), values, sums);
		int ret = table_add(to, keys, values, NULL);
		if (ret < 0)
			return ret;
	}
	return 0;
}

/* ---- the bill */

static int add_item(struct result *result, uint32_t event, const char *item, uint64_t amount)
{
	return profile_add_bill(result->profile, event, OPTIONAL_ABSENT, item, amount);
}

static int write_event_bill(struct result *result, const struct perf_file_event *event)
{
	const struct perf_event_counts *counts = &event->counts;
	uint64_t lost = perf_unit_sum(&event->measure, counts->lost_estimate);
	if (lost && add_item(result, event->row, BILL_LOST_ESTIMATE, lost) < 0)
		return -ENOMEM;
	if (counts->reads)
		return add_item(result, event->row, BILL_READS, counts->reads);
	uint64_t runs = counts->stored;
	sum_add(&runs, counts->lost_records);
	sum_add(&runs, counts->lost_samples);
	sum_add(&runs, counts->damaged);
	const struct {
		const char *item;
		uint64_t amount;
		bool known;
	} lines[] = {
		{ BILL_RUNS, runs, true },
		{ BILL_STORED, counts->stored, true },
		{ BILL_LOST_RING, counts->lost_records, true },
		{ BILL_LOST_HARDWARE, counts->lost_samples, counts->lost_samples },
		{ BILL_LOST_DAMAGED, counts->damaged, counts->damaged },
		{ BILL_THROTTLED, counts->throttled, true },
		{ BILL_STACKS_FOLLOWED, counts->stored,
		  event->user_part == PERF_USER_CHAIN &&
			  event->attr.sample_type & PERF_SAMPLE_CALLCHAIN },
	};
	int ret = 0;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]) && ret == 0; i++)
		if (lines[i].known)
			ret = add_item(result, event->row, lines[i].item, lines[i].amount);
	return ret < 0 ? ret
		       : bill_add_unknown(result->profile, event->row, OPTIONAL_ABSENT,
					  counts->unknown);
}

static int write_bill(struct result *result)
{
	struct perf_data *data = result->data;
	const struct perf_data_counts *counts = &data->counts;
	int ret = 0;
	for (size_t i = 0; i < data->events.count && ret == 0; i++)
		if (data->events.list[i].row)
			ret = write_event_bill(result, &data->events.list[i]);
	if (ret == 0 && counts->unknown_id)
		ret = add_item(result, 0, BILL_LOST_DAMAGED, counts->unknown_id);
	if (ret == 0 && data->killed)
		ret = add_item(result, 0, BILL_CUT_OFF, 1);
	if (ret == 0 && counts->map_timeouts)
		ret = add_item(result, 0, BILL_MAPS_CUT, counts->map_timeouts);
	if (ret == 0 && counts->aux_lost)
		ret = add_item(result, 0, BILL_TRACE_CUT, counts->aux_lost);
	if (ret == 0 && counts->aux_bytes)
		ret = add_item(result, 0, BILL_TRACE_LEFT_OUT, counts->aux_bytes);
	uint64_t raw_bytes = 0;
	for (size_t i = 0; i < data->events.count; i++)
		raw_bytes += data->events.list[i].counts.raw_bytes;
	if (ret == 0 && raw_bytes)
		ret = add_item(result, 0, BILL_RAW_LEFT_OUT, raw_bytes);
	return ret;
}

/* ---- the source */

/* "GenuineIntel,6,85,4" or "0x00000000410fd0c0"; another text stays as it is. */
static void split_cpu_id(struct span id, struct span *vendor, char model[CPU_MODEL_ROOM])
{
	char text[CPU_MODEL_ROOM] = "", name[32];
	unsigned numbers[3];
	unsigned long long midr;
	if (id.size && id.size < sizeof(text))
		memcpy(text, id.data, id.size);
	if (sscanf(text, "%31[^,],%u,%u,%u", name, &numbers[0], &numbers[1], &numbers[2]) == 4) {
		*vendor = (struct span){ id.data, strlen(name) };
		cpu_model_of_x86(numbers[0], numbers[1], numbers[2], model);
	} else if (sscanf(text, "0x%llx", &midr) == 1) {
		cpu_model_of_arm(midr, model);
	} else {
		snprintf(model, CPU_MODEL_ROOM, "%s", text);
	}
}

static int write_source(struct result *result)
{
	struct perf_data *data = result->data;
	const struct perf_data_machine *machine = &data->machine;
	char model[CPU_MODEL_ROOM] = "", tool[128] = "perf";
	struct span version = byte_pool_get(&data->names, machine->version);
	struct span vendor = { NULL, 0 };
	split_cpu_id(byte_pool_get(&data->names, machine->cpu_id), &vendor, model);
	int shown = (int)(version.size < sizeof(tool) ? version.size : sizeof(tool));
	/* libculprit writes its own name before its version (src/count/sampler_machine.c). */
	if (shown)
		snprintf(tool, sizeof(tool), "%s%.*s",
			 span_starts_with(version, "culprit ") ? "" : "perf ", shown,
			 (const char *)version.data);
	uint64_t first = machine->first_ns ? machine->first_ns : data->first_sample_ns;
	uint64_t last = machine->last_ns ? machine->last_ns : data->last_sample_ns;
	struct profile_source source = {
		.host = byte_pool_get(&data->names, machine->host),
		.kernel = byte_pool_get(&data->names, machine->kernel),
		.machine = byte_pool_get(&data->names, machine->arch),
		.cpu_name = byte_pool_get(&data->names, machine->cpu_name),
		.cpu_vendor = vendor,
		.command = byte_pool_get(&data->names, machine->command),
		.tool = span_of_text(tool),
		.cpus = machine->cpus,
		.duration_ns = last > first ? last - first : 0,
	};
	if (model[0])
		source.cpu_model = span_of_text(model);
	if (machine->wall_ns)
		source.start_ns = machine->wall_ns + (first - machine->wall_at_ns);
	return profile_add_source(result->profile, &source);
}

/* ---- names that the file brings */

/* The address that the kernel's vaddrs count from. */
static uint64_t kernel_base(const struct perf_places *places)
{
	struct mapping_place place = { 0 };
	for (const struct mapping *mapping; (mapping = address_space_next(places->kernel, &place));)
		if (mapping->file == places->kernel_image &&
		    places->images.list[mapping->file - 1].space == SPACE_TEXT)
			return mapping->start - mapping->offset;
	return 0;
}

static int name_images(struct result *result)
{
	struct perf_data *data = result->data;
	size_t names, files;
	const struct perf_places *places = &data->places;
	CLEANUP(free_pointer)
	uint64_t *offsets =
		calloc(profile_table(result->profile, PROFILE_IMAGE)->count + 1, sizeof(*offsets));
	if (!offsets)
		return -ENOMEM;
	for (size_t i = 0; i < places->images.count; i++)
		offsets[places->images.list[i].row] = places->images.list[i].text_offset;
	const struct simpleperf_bases bases = { kernel_base(places), offsets };
	int ret = simpleperf_name_images(&data->simpleperf, result->profile, &bases, &names);
	if (ret == 0)
		ret = jit_beside_name_images(data->jit, result->profile, &files);
	if (ret == 0 && jit_beside_untimed(data->jit))
		import_report(
			data->options, IMPORT_NOTE,
			"%zu jitdump files tell of code that was loaded over other code, and the "
			"samples' clock is not theirs: the last at an address counts ('perf record "
			"-k CLOCK_MONOTONIC' keeps them apart)",
			jit_beside_untimed(data->jit));
	if (data->simpleperf.bad)
		import_report(
			data->options, IMPORT_WARNING,
			"%zu of simpleperf's tables of symbols make no sense and are left out",
			data->simpleperf.bad);
	return ret;
}

static void mark_dex(void *images, struct span path)
{
	perf_images_mark_calls_exact(images, path);
}

static int fill_profile(struct result *result)
{
	struct perf_data *data = result->data;
	result->profile = profile_new();
	result->counts = calloc(data->events.count + 1, sizeof(*result->counts));
	result->events = calloc(data->events.count + 1, sizeof(*result->events));
	simpleperf_each_dex(&data->simpleperf, mark_dex, &data->places.images);
	int ret = result->profile && result->counts && result->events
			  ? perf_images_name_builds(&data->places.images, data->places.kernel_image)
			  : -ENOMEM;
	if (ret == 0)
		ret = perf_events_write(&data->events, result->profile);
	if (ret == 0)
		ret = write_contexts(result);
	if (ret == 0)
		ret = write_cells(result);
	if (ret == 0)
		ret = write_table(result, data->edges, PROFILE_EDGE);
	if (ret == 0)
		ret = write_table(result, data->ranges, PROFILE_RANGE);
	if (ret == 0)
		ret = write_table(result, data->values, PROFILE_VALUE);
	if (ret == 0)
		ret = write_bill(result);
	if (ret == 0)
		ret = write_source(result);
	return ret < 0 ? ret : name_images(result);
}

int perf_data_result(struct perf_data *data, struct profile **out, struct error *err)
{
	CLEANUP(result_release) struct result result = { .data = data };
	int ret = perf_data_unwind(data, err);
	if (ret == 0)
		ret = perf_data_error(cells_settle(&data->cells), err);
	if (ret < 0)
		return ret;
	if (!data->cells.count && data->counts.aux_bytes)
		return error_set(err, -ENODATA,
				 "the recording has no samples, but %" PRIu64
				 " bytes of a hardware trace%s, which culprit does not decode",
				 data->counts.aux_bytes, perf_data_trace_words(data->counts.trace));
	if (!data->cells.count)
		return error_set(err, -ENODATA, "the recording has no samples");
	ret = perf_data_error(fill_profile(&result), err);
	if (ret < 0)
		return ret;
	perf_data_report(data, result.profile);
	*out = result.profile;
	result.profile = NULL; /* the caller's from here on */
	return 0;
}
