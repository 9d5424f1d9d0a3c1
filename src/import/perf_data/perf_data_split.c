/*
 * From bytes to records: where each one ends in a stream that comes in pieces of any size.
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <sys/types.h>

#include "base/budget.h"
#include "base/error.h"
#include "import/perf_data/perf_data_private.h"

#define HEADER_BYTES sizeof(struct perf_event_header)

static size_t size_of_record(const struct perf_data *data, const uint8_t *bytes)
{
	uint32_t type;
	uint16_t size;
	memcpy(&type, bytes, sizeof(type));
	if (type > SIMPLEPERF_RECORDS && type < SIMPLEPERF_RECORDS_END && !data->swap)
		return simpleperf_record_size(bytes);
	memcpy(&size, bytes + 6, sizeof(size));
	return data->swap ? __builtin_bswap16(size) : size;
}

/* perf's own messages at the end of a pipe: "[ perf record: Woken up 1 times ...". */
static bool is_text(const uint8_t *bytes, size_t size)
{
	size_t looked = size < 16 ? size : 16;
	for (size_t i = 0; i < looked; i++)
		if (!isprint(bytes[i]) && !isspace(bytes[i]))
			return false;
	return looked >= HEADER_BYTES;
}

static int end_with_text(struct perf_data *data, const struct perf_splitter *splitter)
{
	data->stopped = true;
	import_report(
		data->options, IMPORT_NOTE,
		"text follows the records at byte %llu, as perf's own messages do; it is left "
		"out",
		(unsigned long long)splitter->at);
	return 0;
}

static int handle_record(struct perf_data *data, struct perf_splitter *splitter,
			 const uint8_t *bytes, size_t size, struct error *err)
{
	if (!splitter->unpacked)
		budget_place("byte", splitter->at);
	int ret = perf_data_record(data, splitter, bytes, size, err);
	splitter->at += size;
	return ret;
}

/* Checks the size in a header. Returns it, or 0 with *ret set when reading ends here. */
static size_t checked_size(struct perf_data *data, const struct perf_splitter *splitter,
			   const uint8_t *bytes, size_t there, int *ret, struct error *err)
{
	size_t size = size_of_record(data, bytes);
	*ret = 0;
	if (data->pipe && !splitter->unpacked && is_text(bytes, there)) {
		*ret = end_with_text(data, splitter);
		return 0;
	}
	if (size >= HEADER_BYTES)
		return size;
	*ret = perf_data_fault(data, err,
			       "the record at byte %llu%s has %zu bytes, which is less "
			       "than its header",
			       (unsigned long long)splitter->at,
			       splitter->unpacked ? " of the unpacked records" : "", size);
	return 0;
}

/* Completes the record that began in an earlier piece. Returns how many bytes it took, or an error.
 */
static ssize_t feed_pending(struct perf_data *data, struct perf_splitter *splitter,
			    const uint8_t *bytes, size_t size, struct error *err)
{
	struct buffer *pending = &splitter->pending;
	size_t taken = 0;
	int ret = 0;
	size_t wanted = HEADER_BYTES;
	if (pending->size >= HEADER_BYTES)
		wanted = size_of_record(data, pending->data);
	size_t part = wanted - pending->size < size ? wanted - pending->size : size;
	buffer_append(pending, bytes, part);
	if (buffer_failed(pending))
		return error_set(err, -ENOMEM, "out of memory");
	taken += part;
	if (pending->size < wanted)
		return (ssize_t)taken;
	if (wanted == HEADER_BYTES) {
		wanted = checked_size(data, splitter, pending->data, pending->size, &ret, err);
		if (!wanted || wanted > HEADER_BYTES)
			return ret < 0 ? ret : (ssize_t)taken;
	}
	ret = handle_record(data, splitter, pending->data, pending->size, err);
	buffer_empty(pending);
	return ret < 0 ? ret : (ssize_t)taken;
}

/* Bytes that are no record: names of tracepoints, when they follow TRACING_DATA. 0 or -ENOMEM. */
static int take_tracing(struct perf_data *data, const uint8_t *bytes, size_t size)
{
	if (!data->tracing_left)
		return 0;
	size_t part = size < data->tracing_left ? size : (size_t)data->tracing_left;
	buffer_append(&data->tracing, bytes, part);
	if (buffer_failed(&data->tracing))
		return -ENOMEM;
	data->tracing_left -= part;
	if (data->tracing_left)
		return 0;
	int ret = perf_data_feature(data, PERF_FEATURE_TRACING_DATA,
				    (struct span){ data->tracing.data, data->tracing.size });
	buffer_empty(&data->tracing);
	return ret;
}

int perf_data_split(struct perf_data *data, struct perf_splitter *splitter, const uint8_t *bytes,
		    size_t size, struct error *err)
{
	int ret = 0;
	while (size && !data->stopped && ret >= 0) {
		size_t used = 0;
		if (splitter->skip) {
			used = size < splitter->skip ? size : (size_t)splitter->skip;
			splitter->skip -= used;
			splitter->at += used;
			if (take_tracing(data, bytes, used) < 0)
				return error_set(err, -ENOMEM, "out of memory");
		} else if (splitter->pending.size || size < HEADER_BYTES) {
			ssize_t taken = feed_pending(data, splitter, bytes, size, err);
			if (taken < 0)
				return (int)taken;
			used = (size_t)taken;
		} else {
			used = checked_size(data, splitter, bytes, size, &ret, err);
			if (!used)
				return ret;
			if (used > size) {
				buffer_append(&splitter->pending, bytes, size);
				return buffer_failed(&splitter->pending)
					       ? error_set(err, -ENOMEM, "out of memory")
					       : 0;
			}
			ret = handle_record(data, splitter, bytes, used, err);
		}
		bytes += used;
		size -= used;
	}
	return ret < 0 ? ret : 0;
}

int perf_data_end_split(struct perf_data *data, struct perf_splitter *splitter, struct error *err)
{
	size_t left = splitter->pending.size;
	if (data->stopped)
		return 0;
	if (splitter->skip)
		return perf_data_fault(data, err,
				       "the file ends %llu bytes before the end of the data that "
				       "follows the record before byte %llu",
				       (unsigned long long)splitter->skip,
				       (unsigned long long)splitter->at);
	if (!left)
		return 0;
	if (data->killed || left < HEADER_BYTES) {
		import_report(data->options, IMPORT_NOTE,
			      "%zu stray bytes at the end, at byte %llu, are left out", left,
			      (unsigned long long)splitter->at);
		return 0;
	}
	return perf_data_fault(data, err, "the %s end inside the record at byte %llu",
			       splitter->unpacked ? "unpacked records" : "records",
			       (unsigned long long)splitter->at);
}
