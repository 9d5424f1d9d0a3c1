/*
 * perf_data - recordings of Linux perf, perf.data: what is where in the file.
 *
 * A file has a header, attributes and ids, then the records, then features. A
 * pipe has records alone, with attributes and features as records. Both are
 * read as they come. A file whose attributes lie behind its records is kept
 * whole and read at its end.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "import/formats.h"
#include "import/perf_data/jit_beside.h"
#include "import/perf_data/perf_data_private.h"
#include "import/perf_data/perf_data_swap.h"

#define MAGIC_BYTES	  16 /* magic and size, of a pipe too */
#define FILE_HEADER_BYTES 104
#define ATTR_ROOM	  4096 /* a wider attribute is a wrong number */

static const char magic_little[8] = { 'P', 'E', 'R', 'F', 'I', 'L', 'E', '2' };
static const char magic_big[8] = { '2', 'E', 'L', 'I', 'F', 'R', 'E', 'P' };
static const char magic_old[8] = { 'P', 'E', 'R', 'F', 'F', 'I', 'L', 'E' };
static const char magic_old_big[8] = { 'E', 'L', 'I', 'F', 'F', 'R', 'E', 'P' };

static bool is_old(const void *bytes)
{
	return memcmp(bytes, magic_old, sizeof(magic_old)) == 0 ||
	       memcmp(bytes, magic_old_big, sizeof(magic_old_big)) == 0;
}

static bool recognise(const void *bytes, size_t size)
{
	return size >= sizeof(magic_little) &&
	       (memcmp(bytes, magic_little, sizeof(magic_little)) == 0 ||
		memcmp(bytes, magic_big, sizeof(magic_big)) == 0 || is_old(bytes));
}

static void release_splitter(struct perf_splitter *splitter)
{
	buffer_release(&splitter->pending);
	buffer_release(&splitter->swapped);
}

static void close_reader(void *context)
{
	struct perf_data *data = context;
	if (!data)
		return;
	buffer_release(&data->kept);
	release_splitter(&data->splitter);
	release_splitter(&data->inner);
	buffer_release(&data->unpacked);
	buffer_release(&data->tracing);
	ZSTD_freeDStream(data->unpacker);
	perf_data_release_unwinding(&data->unwinding);
	perf_here_release(&data->here);
	simpleperf_release(&data->simpleperf);
	perf_events_release(&data->events);
	perf_queue_release(&data->queue);
	process_table_release(&data->processes);
	perf_places_release(&data->places);
	jit_beside_free(data->jit);
	cells_release(&data->cells);
	byte_pool_release(&data->names);
	free(data->contexts);
	hash_index_release(&data->context_index);
	number_map_release(&data->cgroups);
	number_map_release(&data->long_names);
	chain_release(&data->chain);
	read_window_release(&data->reads);
	number_map_release(&data->losses_by_cpu);
	table_free(data->edges);
	table_free(data->ranges);
	table_free(data->values);
	free(data);
}

static int open_reader(const struct import_options *options, void **out)
{
	struct perf_data *data = calloc(1, sizeof(*data));
	if (!data)
		return -ENOMEM;
	data->options = options;
	data->inner.unpacked = true;
	if (perf_places_init(&data->places) < 0 ||
	    jit_beside_new(options->folder, &data->jit) < 0 || cells_init(&data->cells) < 0) {
		close_reader(data);
		return -ENOMEM;
	}
	data->places.jit = data->jit;
	data->world = perf_data_world(data);
	*out = data;
	return 0;
}

static uint64_t read_u64(const struct perf_data *data, const uint8_t *bytes)
{
	uint64_t value;
	memcpy(&value, bytes, sizeof(value));
	return data->swap ? __builtin_bswap64(value) : value;
}

static int keep(struct perf_data *data, const uint8_t *bytes, size_t size, struct error *err)
{
	buffer_append(&data->kept, bytes, size);
	return buffer_failed(&data->kept) ? error_set(err, -ENOMEM, "out of memory") : 0;
}

/* A part of the file that was kept; false when it is not all there. */
static bool kept_part(const struct perf_data *data, const struct perf_section *section,
		      const uint8_t **bytes)
{
	if (section->offset < data->kept_from)
		return false;
	uint64_t at = section->offset - data->kept_from;
	if (at > data->kept.size || section->size > data->kept.size - at)
		return false;
	*bytes = data->kept.data + at;
	return true;
}

int perf_data_fault(struct perf_data *data, struct error *err, const char *format, ...)
{
	struct error sentence;
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(sentence.text, sizeof(sentence.text), format, arguments);
	va_end(arguments);
	data->stopped = true;
	return import_fault(data->options, -EBADMSG, err, "%s", sentence.text);
}

/* ---- attributes */

static int add_ids(struct perf_data *data, const struct perf_section *ids, struct error *err)
{
	const uint8_t *bytes;
	if (!ids->size)
		return 0;
	if (!kept_part(data, ids, &bytes))
		return perf_data_fault(data, err, "the ids of event %zu lie outside the file",
				       data->events.count);
	/* no id is of two events: lists that add up to more than the bytes there are overlap */
	if (ids->size > data->kept.size - data->id_bytes)
		return perf_data_fault(data, err,
				       "the ids of event %zu at byte %llu lie over others'",
				       data->events.count, (unsigned long long)ids->offset);
	data->id_bytes += ids->size;
	for (uint64_t i = 0; i < ids->size / 8; i++)
		if (perf_events_add_id(&data->events, (uint32_t)data->events.count - 1,
				       read_u64(data, bytes + i * 8)) < 0)
			return error_set(err, -ENOMEM, "out of memory");
	return 0;
}

/* One row of the attributes: the attribute, and where its ids are at the end. */
static int add_attribute(struct perf_data *data, const uint8_t *row, struct error *err)
{
	uint8_t room[ATTR_ROOM];
	uint64_t width = data->header.attr_size - sizeof(struct perf_section);
	uint32_t own;
	memcpy(room, row, width);
	if (data->swap)
		perf_swap_attr(room, width);
	memcpy(&own, room + 4, sizeof(own));
	if (own >= PERF_ATTR_SIZE_VER0 && own < width)
		width = own;
	int ret = perf_events_add(&data->events, (struct span){ room, width });
	if (ret == -E2BIG)
		return perf_data_fault(data, err, "more than %d events", PERF_EVENTS_LIMIT);
	if (ret == -EBADMSG)
		return perf_data_fault(data, err, "attribute %zu has %llu bytes",
				       data->events.count, (unsigned long long)width);
	if (ret < 0)
		return error_set(err, ret, "out of memory");
	const uint8_t *end = row + data->header.attr_size - sizeof(struct perf_section);
	const struct perf_section ids = { read_u64(data, end), read_u64(data, end + 8) };
	return add_ids(data, &ids, err);
}

/* perf 3.x: names of tracepoints, by config. */
static int add_event_types(struct perf_data *data, struct error *err)
{
	enum { NAME_BYTES = 64, ROW_BYTES = 8 + NAME_BYTES };
	const uint8_t *bytes;
	if (!kept_part(data, &data->header.event_types, &bytes))
		return 0; /* names alone, which newer files have elsewhere */
	for (uint64_t i = 0; i < data->header.event_types.size / ROW_BYTES; i++) {
		const uint8_t *row = bytes + i * ROW_BYTES;
		const struct span name = { row + 8, strnlen((const char *)row + 8, NAME_BYTES) };
		if (perf_events_add_type(&data->events, read_u64(data, row), name) < 0)
			return error_set(err, -ENOMEM, "out of memory");
	}
	return 0;
}

static int take_attributes(struct perf_data *data, struct error *err)
{
	const struct perf_file_header *header = &data->header;
	const uint8_t *bytes;
	int ret = 0;
	if (!kept_part(data, &header->attrs, &bytes))
		return perf_data_fault(data, err,
				       "the attributes at byte %llu lie outside the file",
				       (unsigned long long)header->attrs.offset);
	for (uint64_t i = 0;
	     ret == 0 && !data->stopped && i < header->attrs.size / header->attr_size; i++)
		ret = add_attribute(data, bytes + i * header->attr_size, err);
	if (ret == 0)
		ret = add_event_types(data, err);
	return ret;
}

/* ---- the header */

static struct perf_section section_at(const struct perf_data *data, const uint8_t *bytes)
{
	return (struct perf_section){ read_u64(data, bytes), read_u64(data, bytes + 8) };
}

#define FEATURES_AT		 72
#define HAS_FEATURE(header, bit) ((header)->features[(bit) / 64] >> ((bit) % 64) & 1)

static void read_features(struct perf_data *data, const uint8_t *bytes)
{
	struct perf_file_header *header = &data->header;
	for (size_t i = 0; i < PERF_FEATURE_BITS / 64; i++)
		header->features[i] = read_u64(data, bytes + FEATURES_AT + i * 8);
	if (!data->swap || HAS_FEATURE(header, PERF_FEATURE_HOSTNAME))
		return;
	/* the bit that every file has is not set: a machine of 32 bits wrote words of 32 bits */
	for (size_t i = 0; i < PERF_FEATURE_BITS / 64; i++)
		header->features[i] = header->features[i] >> 32 | header->features[i] << 32;
}

static int take_file_header(struct perf_data *data, struct error *err)
{
	const uint8_t *bytes = data->kept.data;
	struct perf_file_header *header = &data->header;
	header->attr_size = read_u64(data, bytes + 16);
	header->attrs = section_at(data, bytes + 24);
	header->data = section_at(data, bytes + 40);
	header->event_types = section_at(data, bytes + 56);
	read_features(data, bytes);
	uint64_t least = PERF_ATTR_SIZE_VER0 + sizeof(struct perf_section);
	if (header->attr_size < least || header->attr_size > ATTR_ROOM)
		return error_set(err, import_code_at_start(data->options),
				 "the header at byte 16 gives attributes of %llu bytes",
				 (unsigned long long)header->attr_size);
	data->killed = header->data.size == 0;
	uint64_t attrs_end;
	if (__builtin_add_overflow(header->attrs.offset, header->attrs.size, &attrs_end))
		return error_set(err, import_code_at_start(data->options),
				 "the header at byte 24 gives attributes that end "
				 "past any file");
	bool usual = header->data.offset >= FILE_HEADER_BYTES && attrs_end <= header->data.offset &&
		     header->attrs.offset >= FILE_HEADER_BYTES;
	data->state = usual ? PERF_AT_PROLOGUE : PERF_AT_WHOLE;
	return 0;
}

static int take_magic(struct perf_data *data, struct error *err)
{
	const uint8_t *bytes = data->kept.data;
	if (is_old(bytes))
		return error_set(err, -EPROTO,
				 "this perf.data has version 1 of the format, which "
				 "perf gave up in 2009; only version 2 can be read");
	data->swap = memcmp(bytes, magic_big, sizeof(magic_big)) == 0;
	uint64_t size = read_u64(data, bytes + 8);
	if (size == MAGIC_BYTES) {
		data->pipe = true;
		data->splitter.at = MAGIC_BYTES;
		data->state = PERF_AT_DATA;
		return 0;
	}
	if (size < FILE_HEADER_BYTES)
		return error_set(err, import_code_at_start(data->options),
				 "the header at byte 8 says that it has %llu bytes",
				 (unsigned long long)size);
	data->state = PERF_AT_HEADER;
	return 0;
}

/* ---- bytes as they come */

/* Where the part that is being read ends in the file. */
static uint64_t end_of_state(const struct perf_data *data)
{
	switch (data->state) {
	case PERF_AT_MAGIC:
		return MAGIC_BYTES;
	case PERF_AT_HEADER:
		return FILE_HEADER_BYTES;
	case PERF_AT_PROLOGUE:
		return data->header.data.offset;
	case PERF_AT_DATA: {
		uint64_t end;
		bool endless = data->pipe || data->killed ||
			       __builtin_add_overflow(data->header.data.offset,
						      data->header.data.size, &end);
		return endless ? UINT64_MAX : end;
	}
	default:
		return UINT64_MAX;
	}
}

static int finish_state(struct perf_data *data, struct error *err)
{
	int ret = 0;
	switch (data->state) {
	case PERF_AT_MAGIC:
		return take_magic(data, err);
	case PERF_AT_HEADER:
		return take_file_header(data, err);
	case PERF_AT_PROLOGUE:
		ret = take_attributes(data, err);
		data->splitter.at = data->header.data.offset;
		data->state = PERF_AT_DATA;
		return ret;
	case PERF_AT_DATA:
		data->state = PERF_AT_EPILOGUE;
		buffer_empty(&data->kept);
		data->kept_from = data->at;
		return 0;
	default:
		return 0;
	}
}

static int feed(void *context, const void *bytes, size_t size, struct error *err)
{
	struct perf_data *data = context;
	const uint8_t *at = bytes;
	for (;;) {
		uint64_t end = end_of_state(data);
		if (data->at >= end) {
			int ret = finish_state(data, err);
			if (ret < 0)
				return ret;
			continue;
		}
		if (!size)
			return 0;
		size_t part = size < end - data->at ? size : (size_t)(end - data->at);
		int ret = data->state == PERF_AT_DATA
				  ? perf_data_split(data, &data->splitter, at, part, err)
				  : keep(data, at, part, err);
		if (ret < 0)
			return ret;
		data->at += part;
		at += part;
		size -= part;
	}
}

/* ---- the end */

static int take_features(struct perf_data *data, uint64_t table_at, struct error *err)
{
	const struct perf_section table = { table_at, 16 };
	struct perf_section row = table;
	for (uint64_t bit = 0; bit < PERF_FEATURE_BITS; bit++) {
		const uint8_t *bytes;
		if (!HAS_FEATURE(&data->header, bit))
			continue;
		if (!kept_part(data, &row, &bytes))
			return perf_data_fault(data, err,
					       "the file ends at byte %llu, inside its features",
					       (unsigned long long)data->at);
		const struct perf_section section = section_at(data, bytes);
		row.offset += 16;
		if (!section.size)
			continue;
		if (!kept_part(data, &section, &bytes))
			return perf_data_fault(
				data, err, "feature %llu at byte %llu lies outside the file",
				(unsigned long long)bit, (unsigned long long)section.offset);
		if (perf_data_feature(data, bit, (struct span){ bytes, section.size }) < 0)
			return error_set(err, -ENOMEM, "out of memory");
	}
	return 0;
}

/* Reads a file that was kept whole: attributes, records, features. */
static int read_whole(struct perf_data *data, struct error *err)
{
	const struct perf_section *section = &data->header.data;
	int ret = take_attributes(data, err);
	if (ret < 0)
		return ret;
	if (section->offset > data->kept.size)
		return perf_data_fault(data, err, "the records at byte %llu lie outside the file",
				       (unsigned long long)section->offset);
	uint64_t size = data->kept.size - section->offset;
	bool cut = !data->killed && section->size > size;
	if (!data->killed && !cut)
		size = section->size;
	data->splitter.at = section->offset;
	ret = perf_data_split(data, &data->splitter, data->kept.data + section->offset, size, err);
	if (ret == 0 && cut)
		ret = perf_data_fault(data, err, "the file ends at byte %llu, inside its records",
				      (unsigned long long)data->at);
	if (ret == 0 && !data->killed && !cut)
		ret = take_features(data, section->offset + section->size, err);
	return ret;
}

/* Reads what waits for the end of the file, or reports what is missing there. */
static int end_of_file(struct perf_data *data, struct error *err)
{
	switch (data->state) {
	case PERF_AT_MAGIC:
	case PERF_AT_HEADER:
		return error_set(err, import_code_at_start(data->options),
				 "the file ends at byte %llu, inside its header",
				 (unsigned long long)data->at);
	case PERF_AT_PROLOGUE:
		return error_set(err, import_code_at_start(data->options),
				 "the file ends at byte %llu, inside its attributes",
				 (unsigned long long)data->at);
	case PERF_AT_DATA:
		return data->pipe || data->killed || data->stopped
			       ? 0
			       : perf_data_fault(data, err,
						 "the file ends at byte %llu, inside its records",
						 (unsigned long long)data->at);
	case PERF_AT_EPILOGUE:
		return take_features(data, data->kept_from, err);
	case PERF_AT_WHOLE:
		return read_whole(data, err);
	}
	return 0;
}

static int finish(void *context, struct profile **out, struct error *err)
{
	struct perf_data *data = context;
	/* Features first: unwinding and the profile need what they have. */
	int ret = end_of_file(data, err);
	if (ret == 0)
		ret = perf_data_end_records(data, err);
	return ret < 0 ? ret : perf_data_result(data, out, err);
}

const struct importer importer_perf_data = {
	.name = "perf.data",
	.what = "a recording of Linux perf or simpleperf",
	.recognise = recognise,
	.open = open_reader,
	.feed = feed,
	.finish = finish,
	.close = close_reader,
};
