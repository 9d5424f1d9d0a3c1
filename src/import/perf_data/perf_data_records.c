/*
 * One record after the other: those that perf itself wrote are processed as they come,
 * those of the kernel wait in the queue for their turn in the order of time.
 */
#include <errno.h>
#include <string.h>

#include "base/budget.h"
#include "base/error.h"
#include "base/sum.h"
#include "import/perf_data/perf_data_private.h"
#include "import/perf_data/perf_data_swap.h"

#define HEADER_BYTES sizeof(struct perf_event_header)
/* Little where sanitizers watch, so that small inputs unpack to several pieces too. */
#define UNPACKED_BYTES	   (GROWTH_IS_WATCHED ? 4096u : 256u << 10)
#define QUEUE_ROOM	   (24u << 20) /* of the queue, beside twice the bytes of the file so far */
#define TRACING_MOST	   (64u << 20) /* formats of all events of a kernel are 4 MB */
#define AUX_FLAG_TRUNCATED 1u
#define AUX_FLAG_COLLISION 8u
#define AUX_FLAG_PARTIAL   4u

static int out_of_memory(struct error *err)
{
	return error_set(err, -ENOMEM, "out of memory");
}

/* ---- records of the kernel, in order of time */

static int take_task(struct perf_data *data, const struct perf_record *record, bool exit)
{
	const struct perf_task *task = &record->task;
	perf_data_forget_thread(data, task->tid);
	if (exit)
		return process_exit(&data->processes, task->pid, task->tid, task->time);
	int ret = process_fork(&data->processes, task->pid, task->tid, task->parent_pid,
			       task->parent_tid, task->time);
	/* perf's own record of a process that ran already: all its mappings follow. */
	if (ret == 0 && task->pid != task->parent_pid &&
	    (record->misc & PERF_RECORD_MISC_FORK_EXEC))
		ret = process_disinherit(&data->processes, task->pid);
	return ret;
}

static int take_comm(struct perf_data *data, const struct perf_record *record)
{
	perf_data_forget_thread(data, record->comm.tid);
	return process_comm(&data->processes, record->comm.pid, record->comm.tid, record->comm.name,
			    record->comm.exec, record->identity.time);
}

/* A LOST record has the id of one event; its ring has the records of that CPU's others too. */
static int take_lost(struct perf_data *data, const struct perf_record *record, uint32_t event)
{
	if (record->type == PERF_RECORD_LOST_SAMPLES) {
		sum_add(&data->events.list[event].counts.lost_samples, record->lost.lost);
		return perf_data_lost(data, event, record);
	}
	uint32_t named = perf_events_find(&data->events, record->lost.id);
	sum_add(&data->counts.lost, record->lost.lost);
	sum_add(&data->events.list[named == PERF_NO_EVENT ? event : named].counts.lost_records,
		record->lost.lost);
	return perf_data_lost(data, event, record);
}

static void take_throttle(struct perf_data *data, const struct perf_record *record, uint32_t event)
{
	uint32_t named = perf_events_find(&data->events, record->throttle.id);
	data->counts.throttled++;
	data->events.list[named == PERF_NO_EVENT ? event : named].counts.throttled++;
}

static int take_mapping(struct perf_data *data, const struct perf_record *record)
{
	if (record->misc & PERF_RECORD_MISC_PROC_MAP_PARSE_TIMEOUT)
		data->counts.map_timeouts++;
	return perf_places_map(&data->places, &data->processes, record);
}

static void take_aux(struct perf_data *data, const uint8_t *bytes, size_t size)
{
	uint64_t flags; /* behind offset and size */
	if (size < HEADER_BYTES + 24)
		return;
	memcpy(&flags, bytes + HEADER_BYTES + 16, sizeof(flags));
	data->counts.aux_lost +=
		(flags & (AUX_FLAG_TRUNCATED | AUX_FLAG_COLLISION | AUX_FLAG_PARTIAL)) != 0;
}

static int handle_decoded(struct perf_data *data, uint32_t event, const struct perf_record *record,
			  struct error *err)
{
	int ret = 0;
	switch (record->type) {
	case PERF_RECORD_SAMPLE:
		return perf_data_sample(data, event, record, err);
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		ret = take_mapping(data, record);
		break;
	case PERF_RECORD_COMM:
		ret = take_comm(data, record);
		break;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		ret = take_task(data, record, record->type == PERF_RECORD_EXIT);
		break;
	case PERF_RECORD_KSYMBOL:
		ret = perf_places_symbol(&data->places, record);
		break;
	case PERF_RECORD_CGROUP:
		ret = perf_data_cgroup(data, record);
		break;
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
		ret = take_lost(data, record, event);
		break;
	case PERF_RECORD_THROTTLE:
		take_throttle(data, record, event);
		break;
	default:
		break;
	}
	return ret < 0 ? out_of_memory(err) : 0;
}

struct turn {
	struct perf_data *data;
	struct error *err;
};

static int handle_in_turn(void *context, const uint8_t *bytes, uint64_t time)
{
	(void)time;
	struct turn *turn = context;
	struct perf_data *data = turn->data;
	struct perf_event_header header;
	memcpy(&header, bytes, sizeof(header));
	uint32_t event = perf_events_of_record(&data->events, bytes, header.size);
	if (event == PERF_NO_EVENT) {
		data->counts.unknown_id += header.type == PERF_RECORD_SAMPLE;
		if (header.type == PERF_RECORD_SAMPLE || !data->events.count)
			return 0;
		event = 0; /* records of processes are the same for all events */
	}
	if (header.type == PERF_RECORD_AUX)
		take_aux(data, bytes, header.size);
	struct perf_record record;
	data->record = (struct span){ bytes, header.size };
	if (perf_record_decode(bytes, header.size, &data->events.list[event].layout, &record) < 0) {
		data->counts.damaged++;
		data->events.list[event].counts.damaged += header.type == PERF_RECORD_SAMPLE;
		return 0;
	}
	return handle_decoded(data, event, &record, turn->err);
}

static int enqueue(struct perf_data *data, const uint8_t *bytes, size_t size, struct error *err)
{
	struct turn turn = { data, err };
	bool late = false;
	uint64_t time = perf_events_time(&data->events, bytes, size);
	if (!time)
		return handle_in_turn(&turn, bytes, 0);
	if (perf_queue_add(&data->queue, time, bytes, size, &late) < 0)
		return out_of_memory(err);
	data->counts.late += late;
	/* a file without FINISHED_ROUND waits whole, unless it unpacks to far more than its size */
	if (perf_queue_bytes(&data->queue) / 2 < QUEUE_ROOM / 2 + data->at)
		return 0;
	int ret = perf_queue_flush(&data->queue, handle_in_turn, &turn);
	return ret == -ENOMEM ? out_of_memory(err) : ret;
}

/* ---- records of perf */

static int take_attr(struct perf_data *data, const uint8_t *bytes, size_t size, struct error *err)
{
	uint32_t own;
	memcpy(&own, bytes + HEADER_BYTES + 4, sizeof(own));
	if (own < PERF_ATTR_SIZE_VER0 || own > size - HEADER_BYTES)
		return perf_data_fault(data, err, "attribute %zu has %lu bytes in a record of %zu",
				       data->events.count, (unsigned long)own, size);
	int ret = perf_events_add(&data->events, (struct span){ bytes + HEADER_BYTES, own });
	for (size_t at = HEADER_BYTES + own; ret == 0 && at + 8 <= size; at += 8) {
		uint64_t id;
		memcpy(&id, bytes + at, sizeof(id));
		ret = perf_events_add_id(&data->events, (uint32_t)data->events.count - 1, id);
	}
	if (ret == -E2BIG)
		return perf_data_fault(data, err, "more than %d events", PERF_EVENTS_LIMIT);
	return ret < 0 ? out_of_memory(err) : 0;
}

static int take_update(struct perf_data *data, const uint8_t *bytes, size_t size, struct error *err)
{
	uint64_t type, id;
	memcpy(&type, bytes + HEADER_BYTES, sizeof(type));
	memcpy(&id, bytes + HEADER_BYTES + 8, sizeof(id));
	const struct span value = { bytes + HEADER_BYTES + 16, size - HEADER_BYTES - 16 };
	int ret = perf_events_update(&data->events, id, type, value);
	if (ret == -E2BIG)
		return perf_data_fault(data, err, "too many updates of events that have not come");
	return ret < 0 ? out_of_memory(err) : 0;
}

static int unpack(struct perf_data *data, struct span packed, uint64_t at, struct error *err)
{
	if (!data->unpacker) {
		data->unpacker = ZSTD_createDStream();
		if (!data->unpacker || !buffer_extend(&data->unpacked, UNPACKED_BYTES))
			return out_of_memory(err);
	}
	ZSTD_inBuffer in = { packed.data, packed.size, 0 };
	for (;;) {
		ZSTD_outBuffer out = { data->unpacked.data, UNPACKED_BYTES, 0 };
		size_t left = ZSTD_decompressStream(data->unpacker, &out, &in);
		if (ZSTD_isError(left))
			return perf_data_fault(data, err,
					       "the compressed record at byte %llu is damaged: %s",
					       (unsigned long long)at, ZSTD_getErrorName(left));
		budget_unpacked(out.pos);
		int ret = out.pos ? perf_data_split(data, &data->inner, data->unpacked.data,
						    out.pos, err)
				  : 0;
		if (ret < 0 || data->stopped)
			return ret;
		if (in.pos == in.size && out.pos < out.size)
			return 0;
		if (!out.pos && in.pos == in.size)
			return 0;
	}
}

static int take_compressed(struct perf_data *data, const struct perf_splitter *splitter,
			   uint32_t type, const uint8_t *bytes, size_t size, struct error *err)
{
	if (splitter->unpacked)
		return perf_data_fault(data, err, "a compressed record inside compressed records");
	struct span packed = { bytes + HEADER_BYTES, size - HEADER_BYTES };
	if (type == PERF_FILE_COMPRESSED2) {
		uint64_t used;
		if (packed.size < 8)
			return perf_data_fault(data, err,
					       "the compressed record at byte %llu is too short",
					       (unsigned long long)splitter->at);
		memcpy(&used, packed.data, sizeof(used));
		packed.data = (const uint8_t *)packed.data + 8;
		packed.size -= 8;
		if (used > packed.size)
			return perf_data_fault(data, err,
					       "the compressed record at byte %llu has %llu bytes "
					       "in %zu",
					       (unsigned long long)splitter->at,
					       (unsigned long long)used, packed.size);
		packed.size = used;
	}
	return unpack(data, packed, splitter->at, err);
}

/* Records that are shorter than their fixed part, by type. */
static size_t least_size(uint32_t type)
{
	switch (type) {
	case PERF_FILE_ATTR:
		return HEADER_BYTES + 8;
	case PERF_FILE_EVENT_TYPE:
	case PERF_FILE_FEATURE:
	case PERF_FILE_AUXTRACE:
		return HEADER_BYTES + 8;
	case PERF_FILE_TRACING_DATA:
	case PERF_FILE_AUXTRACE_INFO:
		return HEADER_BYTES + 4;
	case PERF_FILE_BUILD_ID:
		return HEADER_BYTES + 4 + PERF_BUILD_ID_FIELD;
	case PERF_FILE_EVENT_UPDATE:
		return HEADER_BYTES + 16;
	default:
		return HEADER_BYTES;
	}
}

static int take_feature_record(struct perf_data *data, const uint8_t *bytes, size_t size)
{
	uint64_t feature;
	memcpy(&feature, bytes + HEADER_BYTES, sizeof(feature));
	/* One without contents marks the end of the features. */
	if (size == HEADER_BYTES + 8)
		return 0;
	return perf_data_feature(
		data, feature, (struct span){ bytes + HEADER_BYTES + 8, size - HEADER_BYTES - 8 });
}

static int take_event_type(struct perf_data *data, const uint8_t *bytes, size_t size)
{
	uint64_t config;
	memcpy(&config, bytes + HEADER_BYTES, sizeof(config));
	const struct span name = { bytes + HEADER_BYTES + 8, size - HEADER_BYTES - 8 };
	return perf_events_add_type(&data->events, config, name);
}

static int take_perf_record(struct perf_data *data, struct perf_splitter *splitter, uint32_t type,
			    const uint8_t *bytes, size_t size, struct error *err)
{
	int ret = 0;
	uint32_t tracing;
	uint64_t trace;
	struct turn turn = { data, err };
	if (size < least_size(type))
		return perf_data_fault(data, err,
				       "the record at byte %llu, of type %lu, has %zu "
				       "bytes, which is too short",
				       (unsigned long long)splitter->at, (unsigned long)type, size);
	switch (type) {
	case PERF_FILE_ATTR:
		return take_attr(data, bytes, size, err);
	case PERF_FILE_EVENT_UPDATE:
		return take_update(data, bytes, size, err);
	case PERF_FILE_COMPRESSED:
	case PERF_FILE_COMPRESSED2:
		return take_compressed(data, splitter, type, bytes, size, err);
	case PERF_FILE_FINISHED_ROUND:
		ret = perf_queue_round(&data->queue, handle_in_turn, &turn);
		return ret == -ENOMEM ? out_of_memory(err) : ret;
	case PERF_FILE_TRACING_DATA: /* its contents follow it */
		memcpy(&tracing, bytes + HEADER_BYTES, sizeof(tracing));
		data->tracing_left = tracing < TRACING_MOST ? tracing : 0;
		splitter->skip = ((uint64_t)tracing + 7) & ~UINT64_C(7);
		return 0;
	case PERF_FILE_AUXTRACE_INFO:
		memcpy(&tracing, bytes + HEADER_BYTES, sizeof(tracing));
		data->counts.trace = tracing < PERF_TRACES ? tracing : PERF_TRACE_UNKNOWN;
		break;
	case PERF_FILE_AUXTRACE: /* likewise */
		memcpy(&trace, bytes + HEADER_BYTES, sizeof(trace));
		splitter->skip = trace;
		sum_add(&data->counts.aux_bytes, trace);
		return 0;
	case PERF_FILE_EVENT_TYPE:
		ret = take_event_type(data, bytes, size);
		break;
	case PERF_FILE_BUILD_ID:
		ret = perf_data_build_id(data, bytes, size);
		break;
	case PERF_FILE_FEATURE:
		ret = take_feature_record(data, bytes, size);
		break;
	default: /* indexes, maps of threads and CPUs, statistics: nothing that a profile has */
		break;
	}
	return ret < 0 ? out_of_memory(err) : 0;
}

/* A record of simpleperf: ids of events that are not in the header, symbols. */
static int take_simpleperf(struct perf_data *data, const uint8_t *bytes, size_t size)
{
	const struct span record = { bytes, size };
	struct simpleperf_id id;
	if (data->swap)
		return 0;
	for (size_t i = 0; simpleperf_event_id(record, i, &id); i++)
		if (id.attribute < data->events.count &&
		    perf_events_find(&data->events, id.id) == PERF_NO_EVENT &&
		    perf_events_add_id(&data->events, (uint32_t)id.attribute, id.id) < 0)
			return -ENOMEM;
	return simpleperf_take_record(&data->simpleperf, record);
}

int perf_data_record(struct perf_data *data, struct perf_splitter *splitter, const uint8_t *bytes,
		     size_t size, struct error *err)
{
	struct perf_event_header header;
	if (data->swap) {
		buffer_empty(&splitter->swapped);
		buffer_append(&splitter->swapped, bytes, size);
		if (buffer_failed(&splitter->swapped))
			return out_of_memory(err);
		perf_swap_record(splitter->swapped.data, size, &data->events);
		bytes = splitter->swapped.data;
	}
	memcpy(&header, bytes, sizeof(header));
	if (header.type < PERF_FILE_FIRST)
		return enqueue(data, bytes, size, err);
	if (header.type <= PERF_FILE_LAST)
		return take_perf_record(data, splitter, header.type, bytes, size, err);
	if (header.type > PERF_FILE_FOREIGN)
		return take_simpleperf(data, bytes, size) < 0 ? out_of_memory(err) : 0;
	data->counts.unknown_records++;
	return 0;
}

int perf_data_end_records(struct perf_data *data, struct error *err)
{
	struct turn turn = { data, err };
	int ret = perf_data_end_split(data, &data->splitter, err);
	if (ret == 0)
		ret = perf_data_end_split(data, &data->inner, err);
	if (ret < 0)
		return ret;
	ret = perf_queue_flush(&data->queue, handle_in_turn, &turn);
	if (ret == 0)
		ret = perf_data_error(cells_settle(&data->cells), err);
	return ret == -ENOMEM ? out_of_memory(err) : ret;
}
