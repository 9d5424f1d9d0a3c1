#include "import/pprof/pprof_wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* A message of plain numbers: field n goes to slots[n - 1], others are skipped. */
static bool get_numbers(struct span bytes, uint64_t *const *slots, size_t count)
{
	struct cursor cursor = cursor_of(bytes.data, bytes.size);
	struct protobuf_field field;
	while (protobuf_next(&cursor, &field)) {
		if (field.number > count || !slots[field.number - 1])
			continue;
		if (field.wire != PROTOBUF_VARINT)
			return false;
		*slots[field.number - 1] = field.value;
	}
	return !cursor.failed;
}

bool pprof_get_value_type(struct span bytes, struct pprof_value_type *out)
{
	*out = (struct pprof_value_type){ 0 };
	uint64_t *const slots[] = { &out->type, &out->unit };
	return get_numbers(bytes, slots, 2);
}

bool pprof_get_mapping(struct span bytes, struct pprof_mapping *out)
{
	*out = (struct pprof_mapping){ 0 };
	uint64_t *const slots[] = { &out->id,	  &out->start, &out->limit,
				    &out->offset, &out->file,  &out->build_id };
	return get_numbers(bytes, slots, 6);
}

bool pprof_get_function(struct span bytes, struct pprof_function *out)
{
	*out = (struct pprof_function){ 0 };
	uint64_t *const slots[] = { &out->id, &out->name, &out->system_name, &out->file };
	return get_numbers(bytes, slots, 4);
}

static bool add_line(struct span bytes, struct pprof_location *out)
{
	struct pprof_line line = { 0 };
	uint64_t *const slots[] = { &line.function, &line.line };
	if (!get_numbers(bytes, slots, 2))
		return false;
	if (out->line_count == RECORD_MAX_DEPTH) {
		memmove(out->lines, out->lines + 1, (RECORD_MAX_DEPTH - 1) * sizeof(line));
		out->line_count--;
	}
	out->lines[out->line_count++] = line;
	return true;
}

bool pprof_get_location(struct span bytes, struct pprof_location *out)
{
	out->id = out->mapping = out->address = 0;
	out->line_count = 0;
	uint64_t *const slots[] = { &out->id, &out->mapping, &out->address };
	struct cursor cursor = cursor_of(bytes.data, bytes.size);
	struct protobuf_field field;
	while (protobuf_next(&cursor, &field)) {
		if (field.number > 4)
			continue;
		if (field.wire != (field.number == 4 ? PROTOBUF_BYTES : PROTOBUF_VARINT))
			return false;
		if (field.number < 4)
			*slots[field.number - 1] = field.value;
		else if (!add_line(field.bytes, out))
			return false;
	}
	return !cursor.failed;
}

static int take_location(void *context, uint64_t id)
{
	struct pprof_sample *sample = context;
	if (array_reserve(&sample->locations, &sample->location_capacity, sample->location_count,
			  sizeof(*sample->locations)) < 0)
		return -ENOMEM;
	sample->locations[sample->location_count++] = id;
	return 0;
}

static int take_value(void *context, uint64_t value)
{
	struct pprof_sample *sample = context;
	if (sample->value_count < PPROF_MAX_TYPES)
		sample->values[sample->value_count] = (int64_t)value;
	sample->value_count++;
	return 0;
}

int pprof_get_sample(struct span bytes, struct pprof_sample *sample)
{
	struct cursor cursor = cursor_of(bytes.data, bytes.size);
	struct protobuf_field field;
	sample->location_count = sample->value_count = sample->label_count = 0;
	while (protobuf_next(&cursor, &field)) {
		int ret = 0;
		if (field.number == 1)
			ret = protobuf_numbers(&field, take_location, sample);
		else if (field.number == 2)
			ret = protobuf_numbers(&field, take_value, sample);
		else if (field.number == 3) {
			ret = field.wire == PROTOBUF_BYTES ? 0 : -EBADMSG;
			sample->label_count++;
		}
		if (ret < 0)
			return ret;
	}
	return cursor.failed ? -EBADMSG : 0;
}

void pprof_sample_release(struct pprof_sample *sample)
{
	free(sample->locations);
	*sample = (struct pprof_sample){ 0 };
}

bool pprof_next_label(struct cursor *sample, struct pprof_label *out)
{
	struct protobuf_field field;
	while (protobuf_next(sample, &field)) {
		if (field.number != 3)
			continue;
		*out = (struct pprof_label){ 0 };
		uint64_t *const slots[] = { &out->key, &out->text, &out->number, &out->unit };
		if (!get_numbers(field.bytes, slots, 4))
			sample->failed = true;
		return !sample->failed;
	}
	return false;
}

/* The wire types that a field of Profile may have, one bit each. */
static unsigned wires_of(uint32_t number)
{
	static const unsigned varint = 1u << PROTOBUF_VARINT;
	static const unsigned bytes = 1u << PROTOBUF_BYTES;
	if (number == PPROF_COMMENT)
		return varint | bytes;
	if (number <= PPROF_STRING || number == PPROF_PERIOD_TYPE)
		return bytes;
	return number <= PPROF_DOC_URL ? varint : 0;
}

bool pprof_next_field(struct cursor *profile, struct protobuf_field *field)
{
	size_t before = profile->at;
	if (!protobuf_next(profile, field))
		return false;
	if (field->number <= PPROF_DOC_URL && !(wires_of(field->number) & (1u << field->wire))) {
		profile->failed = true;
		profile->at = before;
	}
	return !profile->failed;
}

static bool is_message(const struct protobuf_field *field, struct pprof_location *location,
		       struct pprof_sample *sample)
{
	struct pprof_value_type type;
	struct pprof_mapping mapping;
	struct pprof_function function;
	switch (field->number) {
	case PPROF_SAMPLE_TYPE:
	case PPROF_PERIOD_TYPE:
		return pprof_get_value_type(field->bytes, &type);
	case PPROF_SAMPLE:
		return pprof_get_sample(field->bytes, sample) == 0;
	case PPROF_MAPPING:
		return pprof_get_mapping(field->bytes, &mapping) && mapping.id;
	case PPROF_LOCATION:
		return pprof_get_location(field->bytes, location) && location->id;
	case PPROF_FUNCTION:
		return pprof_get_function(field->bytes, &function) && function.id;
	default:
		return true;
	}
}

bool pprof_looks_like(const void *bytes, size_t size)
{
	struct cursor cursor = cursor_of(bytes, size);
	struct protobuf_field field;
	struct pprof_location location;
	struct pprof_sample sample = { 0 };
	size_t messages = 0;
	bool good = true;
	while (good && protobuf_next(&cursor, &field)) {
		good = wires_of(field.number) & (1u << field.wire) &&
		       is_message(&field, &location, &sample);
		messages += field.wire == PROTOBUF_BYTES && field.number != PPROF_STRING;
	}
	pprof_sample_release(&sample);
	/* one message may be a coincidence, and the last field may be cut off */
	return good && (messages > 1 || (messages == 1 && !cursor.failed));
}
