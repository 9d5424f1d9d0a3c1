#include "export/pprof.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/names/resolve.h"
#include "base/cleanup.h"
#include "base/count_of.h"
#include "base/error.h"
#include "base/protobuf_write.h"
#include "export/dso.h"
#include "export/gzip.h"
#include "export/pprof_main.h"
#include "export/pprof_tables.h"
#include "export/stacks.h"
#include "import/pprof/pprof_wire.h"

/* Fields of the messages within a profile, as far as they are written here. */
enum value_type_field { VALUE_TYPE_TYPE = 1, VALUE_TYPE_UNIT = 2 };
enum sample_field { SAMPLE_LOCATION_ID = 1, SAMPLE_VALUE = 2, SAMPLE_LABEL = 3 };
enum label_field { LABEL_KEY = 1, LABEL_STR = 2, LABEL_NUM = 3 };
enum mapping_field {
	MAPPING_ID = 1,
	MAPPING_MEMORY_LIMIT = 3,
	MAPPING_FILENAME = 5,
	MAPPING_BUILD_ID = 6,
	MAPPING_HAS_FUNCTIONS = 7,
	MAPPING_HAS_FILENAMES = 8,
	MAPPING_HAS_LINE_NUMBERS = 9,
	MAPPING_HAS_INLINE_FRAMES = 10,
};
enum location_field {
	LOCATION_ID = 1,
	LOCATION_MAPPING_ID = 2,
	LOCATION_ADDRESS = 3,
	LOCATION_LINE = 4,
};
enum line_field { LINE_FUNCTION_ID = 1, LINE_LINE = 2 };
enum function_field {
	FUNCTION_ID = 1,
	FUNCTION_NAME = 2,
	FUNCTION_SYSTEM_NAME = 3,
	FUNCTION_FILENAME = 4
};

struct writer {
	const struct export_input *input;
	struct stacks *stacks;
	struct gzip gzip;
	struct dso_names dsos;
	struct pprof_tables tables;
	uint64_t *limits; /* by image id: behind its last address; 0: unused */
	struct buffer message,
		part; /* that are being made: a field of the profile, and one in it */
};

static void writer_release(struct writer *writer)
{
	gzip_release(&writer->gzip);
	dso_names_release(&writer->dsos);
	pprof_tables_release(&writer->tables);
	free(writer->limits);
	buffer_release(&writer->message);
	buffer_release(&writer->part);
}

static struct span span_of_buffer(const struct buffer *buffer)
{
	return (struct span){ buffer->data, buffer->size };
}

/* Writes writer->message as a field of the profile, and empties it. */
static int put_message(struct writer *writer, enum pprof_number field)
{
	protobuf_put_item(&writer->gzip.plain, field, span_of_buffer(&writer->message));
	bool failed = buffer_failed(&writer->message) || buffer_failed(&writer->part);
	buffer_empty(&writer->message);
	return failed ? -ENOMEM : gzip_flush_some(&writer->gzip);
}

/* ---- what the values are */

/* The unit in pprof's own word where it has one: then it shows 1.5s. */
static struct span unit_of(const struct event_column *event)
{
	return span_equal(event->unit, span_of_text("ns")) ? span_of_text("nanoseconds")
							   : event->unit;
}

static int put_value_type(struct writer *writer, enum pprof_number field, struct span type,
			  struct span unit)
{
	uint64_t type_text, unit_text;
	if (pprof_text_of(&writer->tables, type, &type_text) < 0 ||
	    pprof_text_of(&writer->tables, unit, &unit_text) < 0)
		return -ENOMEM;
	protobuf_put_number(&writer->message, VALUE_TYPE_TYPE, type_text);
	protobuf_put_number(&writer->message, VALUE_TYPE_UNIT, unit_text);
	return put_message(writer, field);
}

/* Writes the value types of an event. That of its samples is "samples" when it is the only event,
 * else as "cycles_sample". */
static int put_event(struct writer *writer, const struct event_column *event)
{
	CLEANUP(buffer_release) struct buffer text = { 0 };
	int ret = 0;
	if (event->sampled) {
		buffer_append(&text, event->name.data, event->name.size);
		buffer_append_text(&text, "_sample");
		ret = put_value_type(writer, PPROF_SAMPLE_TYPE,
				     writer->input->chosen_count > 1 ? span_of_buffer(&text)
								     : span_of_text("samples"),
				     span_of_text("count"));
	}
	if (ret < 0)
		return ret;
	struct span unit = unit_of(event);
	buffer_empty(&text);
	if (event->scale) { /* values are whole numbers */
		buffer_printf(&text, "10^-%" PRIu64 " %.*s", event->scale, (int)unit.size,
			      (const char *)unit.data);
		unit = span_of_buffer(&text);
	}
	return buffer_failed(&text) ? -ENOMEM
				    : put_value_type(writer, PPROF_SAMPLE_TYPE, event->name, unit);
}

static int put_period(struct writer *writer)
{
	const struct event_column *event = &writer->input->columns->list[writer->input->chosen[0]];
	bool known = event->policy == PERIOD_FIXED || event->policy == PERIOD_RANDOM;
	uint64_t name;
	if (pprof_text_of(&writer->tables, event->name, &name) < 0)
		return -ENOMEM;
	protobuf_put_number(&writer->gzip.plain, PPROF_DEFAULT_SAMPLE_TYPE, name);
	if (!known || event->period_least != event->period_most || event->period_least > INT64_MAX)
		return 0;
	protobuf_put_number(&writer->gzip.plain, PPROF_PERIOD, event->period_least);
	return put_value_type(writer, PPROF_PERIOD_TYPE, event->name, unit_of(event));
}

/* Writes the time from the first start to the last end, unless a source does not know its start. */
static void put_times(struct writer *writer)
{
	const struct profile *profile = writer->input->profile;
	size_t count = profile_table(profile, PROFILE_SOURCE)->count;
	uint64_t start = UINT64_MAX, end = 0;
	for (size_t row = 0; row < count; row++) {
		const struct profile_source source = profile_source(profile, row);
		uint64_t source_end;
		if (!source.start_ns ||
		    __builtin_add_overflow(source.start_ns, source.duration_ns, &source_end) ||
		    source_end > INT64_MAX)
			return;
		start = source.start_ns < start ? source.start_ns : start;
		end = source_end > end ? source_end : end;
	}
	if (!count)
		return;
	protobuf_put_number(&writer->gzip.plain, PPROF_TIME_NANOS, start);
	protobuf_put_number(&writer->gzip.plain, PPROF_DURATION_NANOS, end - start);
}

static int put_head(struct writer *writer)
{
	uint64_t none;
	int ret = pprof_word_of(&writer->tables, "", &none); /* text 0 is empty */
	for (size_t i = 0; ret == 0 && i < writer->input->chosen_count; i++)
		ret = put_event(writer, &writer->input->columns->list[writer->input->chosen[i]]);
	if (ret == 0)
		ret = put_period(writer);
	put_times(writer);
	return ret;
}

/* ---- samples */

static int put_label(struct writer *writer, struct span key, struct span text)
{
	uint64_t key_text, value_text;
	if (!text.data)
		return 0;
	if (pprof_text_of(&writer->tables, key, &key_text) < 0 ||
	    pprof_text_of(&writer->tables, text, &value_text) < 0)
		return -ENOMEM;
	buffer_empty(&writer->part);
	protobuf_put_number(&writer->part, LABEL_KEY, key_text);
	protobuf_put_number(&writer->part, LABEL_STR, value_text);
	protobuf_put_item(&writer->message, SAMPLE_LABEL, span_of_buffer(&writer->part));
	return 0;
}

static int put_number_label(struct writer *writer, const char *key, uint64_t optional)
{
	uint64_t key_text;
	if (optional == OPTIONAL_ABSENT)
		return 0;
	if (pprof_word_of(&writer->tables, key, &key_text) < 0)
		return -ENOMEM;
	buffer_empty(&writer->part);
	protobuf_put_number(&writer->part, LABEL_KEY, key_text);
	protobuf_put_number(&writer->part, LABEL_NUM, optional - 1);
	protobuf_put_item(&writer->message, SAMPLE_LABEL, span_of_buffer(&writer->part));
	return 0;
}

/* "key=value" lines. */
static int put_own_labels(struct writer *writer, struct span labels)
{
	const char *at = labels.data;
	size_t left = labels.size;
	int ret = 0;
	while (ret == 0 && left) {
		const char *end = memchr(at, '\n', left);
		size_t size = end ? (size_t)(end - at) : left;
		const char *equals = memchr(at, '=', size);
		size_t key = equals ? (size_t)(equals - at) : size;
		if (equals)
			ret = put_label(writer, (struct span){ at, key },
					(struct span){ equals + 1, size - key - 1 });
		at += size + (end ? 1 : 0);
		left -= size + (end ? 1 : 0);
	}
	return ret;
}

static int put_context(struct writer *writer, uint32_t id)
{
	if (!id)
		return 0;
	const struct profile_context context = profile_context(writer->input->profile, id);
	const struct {
		const char *key;
		struct span text;
	} texts[] = { { "comm", context.comm },
		      { "thread_comm", context.thread },
		      { "cgroup", context.cgroup },
		      { "container", context.container },
		      { "core_type", context.core_type } };
	const struct {
		const char *key;
		uint64_t number;
	} numbers[] = { { "pid", context.pid }, { "tid", context.tid }, { "cpu", context.cpu } };
	int ret = 0;
	for (size_t i = 0; ret == 0 && i < COUNT_OF(texts); i++)
		ret = put_label(writer, span_of_text(texts[i].key), texts[i].text);
	for (size_t i = 0; ret == 0 && i < COUNT_OF(numbers); i++)
		ret = put_number_label(writer, numbers[i].key, numbers[i].number);
	return ret == 0 ? put_own_labels(writer, context.labels) : ret;
}

/* Appends a packed value; false when it does not fit a signed number. */
static bool put_value(struct writer *writer, uint64_t value)
{
	buffer_append_varint(&writer->part, value);
	return value <= INT64_MAX;
}

static int put_sample(struct writer *writer, size_t i, struct error *err)
{
	const struct export_input *input = writer->input;
	const struct cell *cells = stacks_cells(writer->stacks, i);
	size_t depth;
	const uint32_t *path = stacks_path(writer->stacks, i, &depth);
	uint32_t context = 0;
	bool empty = true, fits = true;
	buffer_empty(&writer->part);
	for (size_t at = depth; at-- > 0;) {
		const struct stack_frame *frame = &writer->stacks->frames[path[at]];
		if (frame->kind == STACK_COMMAND)
			context = frame->context;
		else
			buffer_append_varint(&writer->part, (uint64_t)path[at] + 1);
	}
	protobuf_put_bytes(&writer->message, SAMPLE_LOCATION_ID, span_of_buffer(&writer->part));
	buffer_empty(&writer->part);
	for (size_t c = 0; c < input->chosen_count; c++) {
		if (input->columns->list[input->chosen[c]].sampled)
			fits &= put_value(writer, cells[c].samples);
		fits &= put_value(writer, cells[c].estimate);
		empty &= cell_is_empty(&cells[c]);
	}
	if (!fits)
		return error_set(err, -EOVERFLOW, "a value passes the 63 bits that pprof has");
	if (empty) {
		buffer_empty(&writer->message);
		return 0;
	}
	protobuf_put_item(&writer->message, SAMPLE_VALUE, span_of_buffer(&writer->part));
	int ret = put_context(writer, context);
	return ret < 0 ? ret : put_message(writer, PPROF_SAMPLE);
}

/* ---- places */

static int put_line(struct writer *writer, uint64_t function, uint32_t line)
{
	buffer_empty(&writer->part);
	protobuf_put_number(&writer->part, LINE_FUNCTION_ID, function);
	protobuf_put_number(&writer->part, LINE_LINE, line);
	protobuf_put_item(&writer->message, LOCATION_LINE, span_of_buffer(&writer->part));
	return 0;
}

static int put_lines(struct writer *writer, const struct place *place)
{
	const struct procedure *procedure = place->procedure;
	const struct source_frame *sources;
	size_t count = resolver_source(writer->input->resolver, place, &sources);
	uint64_t function;
	int ret = 0;
	for (size_t i = 0; ret == 0 && i < count; i++) {
		bool inlined = sources[i].function;
		ret = pprof_function_of(&writer->tables,
					inlined ? sources[i].function : procedure->name,
					inlined ? sources[i].function : procedure->linkage,
					sources[i].file, &function);
		if (ret == 0)
			ret = put_line(writer, function, sources[i].line);
	}
	if (count || !procedure->named) /* pprof shows the address of what has no name */
		return ret;
	ret = pprof_function_of(&writer->tables, procedure->name, procedure->linkage, NULL,
				&function);
	return ret < 0 ? ret : put_line(writer, function, 0);
}

static int put_location(struct writer *writer, uint32_t number)
{
	const struct stack_frame *frame = &writer->stacks->frames[number];
	uint32_t image = frame->address.image;
	if (frame->kind != STACK_CODE)
		return 0;
	protobuf_put_number(&writer->message, LOCATION_ID, (uint64_t)number + 1);
	protobuf_put_number(&writer->message, LOCATION_MAPPING_ID, image);
	if (!frame->address.name || frame->address.vaddr)
		protobuf_put_number(&writer->message, LOCATION_ADDRESS, frame->place->vaddr);
	uint64_t limit = frame->place->vaddr == UINT64_MAX ? UINT64_MAX : frame->place->vaddr + 1;
	if (writer->limits[image] < limit)
		writer->limits[image] = limit;
	int ret = put_lines(writer, frame->place);
	return ret < 0 ? ret : put_message(writer, PPROF_LOCATION);
}

static int put_mapping(struct writer *writer, uint32_t id)
{
	CLEANUP(buffer_release) struct buffer build_id = { 0 };
	const struct profile_image image = profile_image(writer->input->profile, id);
	uint64_t file, build_id_text;
	buffer_append_hex(&build_id, image.build_id.data, image.build_id.size);
	if (buffer_failed(&build_id) ||
	    pprof_word_of(&writer->tables, writer->dsos.names[id], &file) < 0 ||
	    pprof_text_of(&writer->tables, span_of_buffer(&build_id), &build_id_text) < 0)
		return -ENOMEM;
	protobuf_put_number(&writer->message, MAPPING_ID, id);
	protobuf_put_number(&writer->message, MAPPING_MEMORY_LIMIT, writer->limits[id]);
	protobuf_put_number(&writer->message, MAPPING_FILENAME, file);
	protobuf_put_number(&writer->message, MAPPING_BUILD_ID, build_id_text);
	/* all that is known is here: pprof need not look for symbols */
	protobuf_put_number(&writer->message, MAPPING_HAS_FUNCTIONS, 1);
	protobuf_put_number(&writer->message, MAPPING_HAS_FILENAMES, 1);
	protobuf_put_number(&writer->message, MAPPING_HAS_LINE_NUMBERS, 1);
	protobuf_put_number(&writer->message, MAPPING_HAS_INLINE_FRAMES, 1);
	return put_message(writer, PPROF_MAPPING);
}

/* pprof names the profile after its first mapping, which is the main binary's. */
static int put_mappings(struct writer *writer)
{
	size_t images = profile_table(writer->input->profile, PROFILE_IMAGE)->count;
	uint32_t main_image;
	int ret = pprof_main_image(writer->input->profile, writer->stacks, &writer->dsos,
				   writer->limits, &main_image);
	if (ret == 0 && main_image)
		ret = put_mapping(writer, main_image);
	for (uint32_t id = 1; ret == 0 && id <= images; id++)
		if (writer->limits[id] && id != main_image)
			ret = put_mapping(writer, id);
	return ret;
}

static int put_places(struct writer *writer)
{
	size_t images = profile_table(writer->input->profile, PROFILE_IMAGE)->count;
	writer->limits = calloc(images + 1, sizeof(*writer->limits));
	int ret = writer->limits ? 0 : -ENOMEM;
	for (uint32_t i = 0; ret == 0 && i < writer->stacks->frame_count; i++)
		ret = put_location(writer, i);
	if (ret == 0)
		ret = put_mappings(writer);
	for (size_t i = 0; ret == 0 && i < writer->tables.function_count; i++) {
		const struct pprof_function_row *function = &writer->tables.functions[i];
		protobuf_put_number(&writer->message, FUNCTION_ID, i + 1);
		protobuf_put_number(&writer->message, FUNCTION_NAME, function->name);
		protobuf_put_number(&writer->message, FUNCTION_SYSTEM_NAME, function->system_name);
		protobuf_put_number(&writer->message, FUNCTION_FILENAME, function->file);
		ret = put_message(writer, PPROF_FUNCTION);
	}
	for (size_t i = 0; ret == 0 && i < writer->tables.text_count; i++) {
		protobuf_put_item(&writer->gzip.plain, PPROF_STRING, writer->tables.texts[i]);
		ret = gzip_flush_some(&writer->gzip);
	}
	return ret;
}

static int write_profile(struct writer *writer, struct sink *sink, struct error *err)
{
	const struct export_input *input = writer->input;
	int ret = gzip_init(&writer->gzip, sink);
	if (ret == 0)
		ret = dso_names_init(&writer->dsos, input->profile, input->resolver);
	if (ret == 0)
		ret = put_head(writer);
	for (size_t i = 0; ret == 0 && i < writer->stacks->line_count; i++)
		ret = put_sample(writer, i, err);
	if (ret == 0)
		ret = put_places(writer);
	return ret == 0 ? gzip_finish(&writer->gzip) : ret;
}

static int write_pprof(const struct export_input *input, struct sink *sink,
		       struct export_sums *sums, struct error *err)
{
	CLEANUP(stacks_freep) struct stacks *stacks = NULL;
	CLEANUP(writer_release) struct writer writer = { .input = input };
	int ret = stacks_new(input, STACKS_BY_ADDRESS, sums, &stacks);
	writer.stacks = stacks;
	if (ret == 0)
		ret = write_profile(&writer, sink, err);
	return ret == -ENOMEM ? error_set(err, ret, "out of memory writing stacks") : ret;
}

const struct exporter exporter_pprof = {
	.name = "pprof",
	.what = "for pprof: profile.proto, packed by gzip",
	.most_events = EXPORT_ANY_EVENTS,
	.binary = true,
	.write = write_pprof,
};
