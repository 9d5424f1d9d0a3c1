/*
 * Features: what perf notes about the machine, the events and the binaries,
 * behind the records of a file or as FEATURE records in a pipe; their layouts are in
 * tools/perf/Documentation/perf.data-file-format.txt. All are in the file's byte order.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/cursor.h"
#include "base/error.h"
#include "import/perf_data/perf_data_private.h"
#include "import/perf_data/perf_data_swap.h"
#include "import/perf_data/tracing_data.h"

/* A cursor that brings numbers into our byte order. */
struct reading {
	struct cursor cursor;
	bool swap;
};

static uint32_t take_u32(struct reading *reading)
{
	return cursor_u32_swapped(&reading->cursor, reading->swap);
}

static uint64_t take_u64(struct reading *reading)
{
	return cursor_u64_swapped(&reading->cursor, reading->swap);
}

/* A text in a room that is padded with NULs. */
static struct span take_text(struct reading *reading)
{
	uint32_t room = take_u32(reading);
	const char *text = cursor_take(&reading->cursor, room);
	return (struct span){ text, text ? strnlen(text, room) : 0 };
}

static int take_name(struct perf_data *data, struct reading *reading, uint32_t *name)
{
	struct span text = take_text(reading);
	return text.size ? byte_pool_add(&data->names, text, name) : 0;
}

static int take_cpus(struct perf_data *data, struct reading *reading)
{
	take_u32(reading); /* CPUs that could be there */
	data->machine.cpus = take_u32(reading);
	return 0;
}

static int take_command(struct perf_data *data, struct reading *reading)
{
	struct buffer line = { 0 };
	uint32_t count = take_u32(reading);
	for (uint32_t i = 0; i < count && !reading->cursor.failed; i++) {
		struct span word = take_text(reading);
		if (i)
			buffer_append_u8(&line, ' ');
		if (word.size)
			buffer_append(&line, word.data, word.size);
	}
	int ret = buffer_failed(&line) ? -ENOMEM : 0;
	if (ret == 0 && line.size)
		ret = byte_pool_add(&data->names, (struct span){ line.data, line.size },
				    &data->machine.command);
	buffer_release(&line);
	return ret;
}

/* Names of events: in the order of the attributes, unless ids say which event. */
static int take_event_names(struct perf_data *data, struct reading *reading)
{
	uint32_t count = take_u32(reading);
	uint32_t attr_size = take_u32(reading);
	for (uint32_t i = 0; i < count && !reading->cursor.failed; i++) {
		cursor_take(&reading->cursor, attr_size);
		uint32_t id_count = take_u32(reading);
		struct span name = take_text(reading);
		uint32_t event = i;
		for (uint32_t id = 0; id < id_count && !reading->cursor.failed; id++) {
			uint32_t found = perf_events_find(&data->events, take_u64(reading));
			if (id == 0 && found != PERF_NO_EVENT)
				event = found;
		}
		if (reading->cursor.failed || event >= data->events.count)
			continue;
		int ret = perf_events_set_name(&data->events.list[event], name);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static int take_pmus(struct perf_data *data, struct reading *reading)
{
	uint32_t count = take_u32(reading);
	for (uint32_t i = 0; i < count && !reading->cursor.failed; i++) {
		uint32_t type = take_u32(reading);
		struct span name = take_text(reading);
		int ret =
			reading->cursor.failed ? 0 : perf_events_add_pmu(&data->events, type, name);
		if (ret < 0)
			return ret;
	}
	return 0;
}

/* The event whose samples read a group: the first that has samples by now, else the first that has
 * a period or a frequency, since slots leads TopDown events and is not sampled; else the leader. */
static uint32_t sampled_of_group(const struct perf_file_events *events, uint32_t leader,
				 uint32_t members)
{
	for (uint32_t member = leader; member < leader + members; member++)
		if (events->list[member].counts.runs)
			return member;
	for (uint32_t member = leader; member < leader + members; member++)
		if (events->list[member].attr.sample_period)
			return member;
	return leader;
}

/* Groups, which must be in the order of their events, as perf itself demands. */
static int take_groups(struct perf_data *data, struct reading *reading)
{
	uint32_t next = 0;
	uint32_t count = take_u32(reading);
	for (uint32_t i = 0; i < count && !reading->cursor.failed; i++) {
		take_text(reading);
		uint32_t leader = take_u32(reading);
		uint32_t members = take_u32(reading);
		if (reading->cursor.failed || leader < next || leader >= data->events.count ||
		    members > data->events.count - leader)
			break;
		next = leader + members;
		uint32_t sampled = sampled_of_group(&data->events, leader, members);
		for (uint32_t member = leader; member < next; member++)
			data->events.list[member].leader = sampled;
	}
	return 0;
}

int perf_data_build_id(struct perf_data *data, const uint8_t *record, size_t size)
{
	struct perf_event_header header;
	size_t fixed = sizeof(header) + 4 + PERF_BUILD_ID_FIELD;
	if (size < fixed)
		return 0;
	memcpy(&header, record, sizeof(header));
	const uint8_t *id = record + sizeof(header) + 4;
	size_t id_size = PERF_BUILD_ID_ROOM;
	if (header.misc & PERF_BUILD_ID_HAS_SIZE && id[PERF_BUILD_ID_ROOM] <= PERF_BUILD_ID_ROOM)
		id_size = id[PERF_BUILD_ID_ROOM];
	const char *path = (const char *)record + fixed;
	return perf_images_remember_build(&data->places.images, code_mode_of_misc(header.misc),
					  (struct span){ path, strnlen(path, size - fixed) },
					  (struct span){ id, id_size });
}

static int take_build_ids(struct perf_data *data, struct reading *reading)
{
	struct cursor *cursor = &reading->cursor;
	uint8_t record[UINT16_MAX];
	while (cursor_left(cursor) >= sizeof(struct perf_event_header)) {
		uint16_t size;
		memcpy(&size, cursor->start + cursor->at + 6, sizeof(size));
		size = reading->swap ? __builtin_bswap16(size) : size;
		const void *bytes = cursor_take(cursor, size);
		if (!bytes || size < sizeof(struct perf_event_header)) {
			cursor->failed = true;
			return 0;
		}
		memcpy(record, bytes, size);
		if (reading->swap) {
			/* here the header's type is no record's: only misc and size count */
			uint16_t misc = (uint16_t)(record[4] << 8 | record[5]);
			memcpy(record + 4, &misc, sizeof(misc));
		}
		int ret = perf_data_build_id(data, record, size);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static int take_tracepoint(void *context, uint64_t id, struct span system, struct span name)
{
	struct perf_data *data = context;
	CLEANUP(buffer_release) struct buffer text = { 0 };
	buffer_append(&text, system.data, system.size);
	buffer_append_u8(&text, ':');
	buffer_append(&text, name.data, name.size);
	if (buffer_failed(&text))
		return -ENOMEM;
	return perf_events_add_type(&data->events, id, (struct span){ text.data, text.size });
}

static int take_tracing(struct perf_data *data, struct reading *reading)
{
	const struct span bytes = { reading->cursor.start, reading->cursor.size };
	int ret = tracing_data_read(bytes, take_tracepoint, data);
	reading->cursor.failed |= ret == -EBADMSG;
	return ret == -EBADMSG ? 0 : ret;
}

static int take_clock(struct perf_data *data, struct reading *reading)
{
	take_u32(reading); /* version */
	take_u32(reading); /* clock id */
	uint64_t wall_ns = take_u64(reading);
	uint64_t at_ns = take_u64(reading);
	if (!reading->cursor.failed) {
		data->machine.wall_ns = wall_ns;
		data->machine.wall_at_ns = at_ns;
	}
	return 0;
}

static int take_times(struct perf_data *data, struct reading *reading)
{
	uint64_t first = take_u64(reading), last = take_u64(reading);
	if (!reading->cursor.failed) {
		data->machine.first_ns = first;
		data->machine.last_ns = last;
	}
	return 0;
}

#define NAMED_EVENTS_MAX 64 /* of simpleperf; later ones get their name from type and config */

/* Whether simpleperf gives that name twice: type and config give better names then. */
static bool is_ambiguous(const struct simpleperf_event *named, size_t count, size_t index)
{
	for (size_t i = 0; i < count; i++)
		if (i != index && span_equal(named[i].name, named[index].name))
			return true;
	return false;
}

/* simpleperf names events by type and config, those of equal ones in order. */
static int name_simpleperf_events(struct perf_data *data)
{
	struct simpleperf_event named[NAMED_EVENTS_MAX];
	size_t count = simpleperf_events(&data->simpleperf, named, NAMED_EVENTS_MAX);
	for (size_t i = 0; i < count; i++) {
		if (is_ambiguous(named, count, i))
			continue;
		for (size_t e = 0; e < data->events.count; e++) {
			struct perf_file_event *event = &data->events.list[e];
			if (event->attr.type != named[i].type ||
			    event->attr.config != named[i].config || (event->name && e != i))
				continue;
			if (perf_events_set_name(event, named[i].name) < 0)
				return -ENOMEM;
		}
	}
	return 0;
}

static int take_simpleperf(struct perf_data *data, uint64_t feature, struct reading *reading)
{
	const struct span payload = { reading->cursor.start, reading->cursor.size };
	const size_t known_bytes = data->simpleperf.meta.size;
	int ret = data->swap
			  ? 0
			  : simpleperf_take_feature(&data->simpleperf, (unsigned)feature, payload);
	/* only the first META_INFO counts: what a stream repeats is not looked up again */
	if (ret < 0 || feature != SIMPLEPERF_META_INFO || data->simpleperf.meta.size == known_bytes)
		return ret;
	struct span kernel = simpleperf_meta(&data->simpleperf, "kernel_version");
	if (kernel.size && !data->machine.kernel)
		ret = byte_pool_add(&data->names, kernel, &data->machine.kernel);
	return ret < 0 ? ret : name_simpleperf_events(data);
}

static int take_feature(struct perf_data *data, uint64_t feature, struct reading *reading)
{
	struct perf_data_machine *machine = &data->machine;
	switch (feature) {
	case PERF_FEATURE_TRACING_DATA:
		return take_tracing(data, reading);
	case PERF_FEATURE_BUILD_ID:
		return take_build_ids(data, reading);
	case PERF_FEATURE_HOSTNAME:
		return take_name(data, reading, &machine->host);
	case PERF_FEATURE_OSRELEASE:
		return take_name(data, reading, &machine->kernel);
	case PERF_FEATURE_VERSION:
		return take_name(data, reading, &machine->version);
	case PERF_FEATURE_ARCH:
		return take_name(data, reading, &machine->arch);
	case PERF_FEATURE_NRCPUS:
		return take_cpus(data, reading);
	case PERF_FEATURE_CPUDESC:
		return take_name(data, reading, &machine->cpu_name);
	case PERF_FEATURE_CPUID:
		return take_name(data, reading, &machine->cpu_id);
	case PERF_FEATURE_CMDLINE:
		return take_command(data, reading);
	case PERF_FEATURE_EVENT_DESC:
		return take_event_names(data, reading);
	case PERF_FEATURE_PMU_MAPPINGS:
		return take_pmus(data, reading);
	case PERF_FEATURE_GROUP_DESC:
		return take_groups(data, reading);
	case PERF_FEATURE_SAMPLE_TIME:
		return take_times(data, reading);
	case PERF_FEATURE_CLOCK_DATA:
		return take_clock(data, reading);
	default: /* topology, caches, memory: nothing that a profile has */
		return feature >= SIMPLEPERF_FILE ? take_simpleperf(data, feature, reading) : 0;
	}
}

struct perf_recording perf_data_recording(const struct perf_data *data)
{
	const struct perf_data_machine *machine = &data->machine;
	return (struct perf_recording){
		.host = byte_pool_get(&data->names, machine->host),
		.kernel = byte_pool_get(&data->names, machine->kernel),
		.first_sample_ns = data->first_sample_ns,
		.last_sample_ns = data->last_sample_ns,
		.wall_ns = machine->wall_ns,
		.wall_at_ns = machine->wall_at_ns,
		.written_ns = data->options->written_ns,
	};
}

int perf_data_feature(struct perf_data *data, uint64_t feature, struct span bytes)
{
	struct reading reading = { cursor_of(bytes.data, bytes.size), data->swap };
	int ret = take_feature(data, feature, &reading);
	if (ret == 0 && reading.cursor.failed)
		import_report(data->options, IMPORT_WARNING,
			      "feature %llu is shorter than it says and was read in part",
			      (unsigned long long)feature);
	return ret;
}
