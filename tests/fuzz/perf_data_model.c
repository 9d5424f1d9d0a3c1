#include "perf_data_model.h"

#include <string.h>

#include "import/perf_data/perf_data_types.h"

#define HEADER_BYTES 104
#define RECORD_HEAD  8

uint64_t model_get(const struct model *model, const void *bytes, size_t size)
{
	uint64_t value = 0;
	const uint8_t *from = bytes;
	for (size_t i = 0; i < size; i++)
		value |= (uint64_t)from[model->big ? size - 1 - i : i] << 8 * i;
	return value;
}

void model_put(const struct model *model, void *bytes, uint64_t value, size_t size)
{
	uint8_t *to = bytes;
	for (size_t i = 0; i < size; i++)
		to[model->big ? size - 1 - i : i] = (uint8_t)(value >> 8 * i);
}

uint32_t model_type(const struct model *model, struct span record)
{
	return record.size < RECORD_HEAD ? 0 : (uint32_t)model_get(model, record.data, 4);
}

struct span model_record(const struct model *model, uint32_t type, uint16_t misc, const void *body,
			 size_t size)
{
	uint8_t *bytes = mutator_room(RECORD_HEAD + size);
	if (!bytes)
		return (struct span){ NULL, 0 };
	model_put(model, bytes, type, 4);
	model_put(model, bytes + 4, misc, 2);
	model_put(model, bytes + 6, RECORD_HEAD + size, 2);
	if (size)
		memcpy(bytes + RECORD_HEAD, body, size);
	return (struct span){ bytes, RECORD_HEAD + size };
}

/* ---- taking apart */

/* Simpleperf's own records have 32 bits of size, the upper half before the lower. */
static size_t record_size(const struct model *model, const uint8_t *record)
{
	uint32_t type = (uint32_t)model_get(model, record, 4);
	size_t size = model_get(model, record + 6, 2);
	return type > PERF_FILE_FOREIGN && type < PERF_FILE_FOREIGN + 64
		       ? size | (size_t)model_get(model, record + 4, 2) << 16
		       : size;
}

/* Bytes that follow a record belong to it. */
static uint64_t behind_record(const struct model *model, const uint8_t *record, size_t size)
{
	switch (model_get(model, record, 4)) {
	case PERF_FILE_TRACING_DATA:
		return size < RECORD_HEAD + 4
			       ? 0
			       : (model_get(model, record + 8, 4) + 7) & ~UINT64_C(7);
	case PERF_FILE_AUXTRACE:
		return size < RECORD_HEAD + 8 ? 0 : model_get(model, record + 8, 8);
	default:
		return 0;
	}
}

static void take_records(struct model *model, const uint8_t *bytes, size_t size)
{
	while (size >= RECORD_HEAD) {
		size_t own = record_size(model, bytes);
		if (own < RECORD_HEAD || own > size)
			own = size;
		uint64_t behind = behind_record(model, bytes, own);
		own += behind < size - own ? behind : size - own;
		pieces_add(&model->records, (struct span){ bytes, own });
		bytes += own;
		size -= own;
	}
}

/* A part of the file; {NULL, 0} when it is not all there. */
static struct span part_of(struct span file, uint64_t at, uint64_t size)
{
	if (at > file.size || size > file.size - at)
		return (struct span){ NULL, 0 };
	return (struct span){ (const uint8_t *)file.data + at, size };
}

static void take_attr(struct model *model, struct span attr, struct span ids)
{
	if (model->attr_count == MODEL_ATTRS)
		return;
	struct model_attr *taken = &model->attrs[model->attr_count++];
	taken->size = attr.size < ATTR_BYTES ? attr.size : ATTR_BYTES;
	memset(taken->bytes, 0, sizeof(taken->bytes));
	memcpy(taken->bytes, attr.data, taken->size);
	taken->ids = ids;
}

static void take_feature(struct model *model, unsigned bit, struct span bytes)
{
	if (model->feature_count < MODEL_FEATURES)
		model->features[model->feature_count++] = (struct model_feature){ bit, bytes };
}

static void take_file(struct model *model, struct span file)
{
	const uint8_t *header = file.data;
	uint64_t width = model_get(model, header + 16, 8);
	struct span attrs =
		part_of(file, model_get(model, header + 24, 8), model_get(model, header + 32, 8));
	uint64_t at = model_get(model, header + 40, 8), size = model_get(model, header + 48, 8);
	for (size_t i = 0; width >= 80 && width <= 4096 && i < attrs.size / width; i++) {
		const uint8_t *row = (const uint8_t *)attrs.data + i * width;
		const uint8_t *ids = row + width - 16;
		take_attr(model, (struct span){ row, width - 16 },
			  part_of(file, model_get(model, ids, 8), model_get(model, ids + 8, 8)));
	}
	if (at > file.size)
		return;
	uint64_t left = file.size - at;
	uint64_t used = size && size < left ? size : left;
	take_records(model, header + at, used);
	struct span rows = { header + at + used, left - used };
	for (unsigned bit = 0; bit < PERF_FEATURE_BITS && rows.size >= 16; bit++) {
		uint64_t word = model_get(model, header + 72 + bit / 64 * 8, 8);
		if (!(word >> bit % 64 & 1))
			continue;
		take_feature(model, bit,
			     part_of(file, model_get(model, rows.data, 8),
				     model_get(model, (const uint8_t *)rows.data + 8, 8)));
		rows = (struct span){ (const uint8_t *)rows.data + 16, rows.size - 16 };
	}
}

bool model_take_apart(struct model *model, struct span file)
{
	model->pipe = false;
	model->lies = LIE_NONE;
	model->attr_count = model->feature_count = model->records.count = 0;
	memset(&model->attrs[0], 0, sizeof(model->attrs[0]));
	if (file.size < 16)
		return false;
	model->big = memcmp(file.data, "2ELIFREP", 8) == 0;
	if (!model->big && memcmp(file.data, "PERFILE2", 8) != 0)
		return false;
	model->pipe = model_get(model, (const uint8_t *)file.data + 8, 8) == 16;
	if (model->pipe)
		take_records(model, (const uint8_t *)file.data + 16, file.size - 16);
	else if (file.size >= HEADER_BYTES)
		take_file(model, file);
	return model->records.count || model->attr_count;
}

/* ---- putting together */

static size_t put(const struct model *model, struct buffer *out, uint64_t value, size_t size)
{
	uint8_t bytes[8];
	size_t at = out->size;
	model_put(model, bytes, value, size);
	buffer_append(out, bytes, size);
	return at;
}

static void patch(const struct model *model, struct buffer *out, size_t at, uint64_t value)
{
	model_put(model, out->data + at, value, 8);
}

static void put_records(const struct model *model, struct buffer *out)
{
	for (size_t i = 0; i < model->records.count; i++)
		buffer_append(out, model->records.list[i].data, model->records.list[i].size);
}

/* Its own size field is what `attr` says, which need not be how wide it is. */
static void put_attrs(const struct model *model, struct buffer *out)
{
	uint64_t ids_at[MODEL_ATTRS];
	size_t width = 64;
	for (size_t i = 0; i < model->attr_count; i++) {
		const struct model_attr *attr = &model->attrs[i];
		ids_at[i] = i && model->lies & LIE_IDS_OVERLAP ? ids_at[0] : out->size;
		buffer_append(out, attr->ids.data, attr->ids.size);
		width = attr->size > width ? attr->size : width;
	}
	patch(model, out, 16, width + 16);
	patch(model, out, 24, out->size);
	for (size_t i = 0; i < model->attr_count; i++) {
		buffer_append(out, model->attrs[i].bytes, width);
		put(model, out, ids_at[i], 8);
		put(model, out, model->attrs[i].ids.size, 8);
	}
	patch(model, out, 32, model->attr_count * (width + 16));
}

static void put_features(const struct model *model, struct random_state *random, struct buffer *out)
{
	size_t rows[MODEL_FEATURES];
	size_t count = 0;
	for (unsigned bit = 0; bit < PERF_FEATURE_BITS; bit++)
		for (size_t i = 0; i < model->feature_count; i++) {
			if (model->features[i].bit != bit)
				continue;
			uint8_t *word = out->data + 72 + bit / 64 * 8;
			model_put(model, word, model_get(model, word, 8) | UINT64_C(1) << bit % 64,
				  8);
			rows[count++] = i;
			break;
		}
	size_t table = out->size;
	for (size_t i = 0; i < 2 * count; i++)
		put(model, out, 0, 8);
	for (size_t i = 0; i < count; i++) {
		const struct model_feature *feature = &model->features[rows[i]];
		uint64_t at = out->size;
		buffer_append(out, feature->bytes.data, feature->bytes.size);
		if (model->lies & LIE_OVERLAP)
			at = random_below(random, out->size + 1);
		patch(model, out, table + i * 16, at);
		patch(model, out, table + i * 16 + 8, feature->bytes.size);
	}
	if (count && model->lies & LIE_FEATURE_WRAPS) {
		size_t row = table + random_below(random, count) * 16;
		uint64_t at = model_get(model, out->data + row, 8);
		patch(model, out, row + 8, mutator_number(random, 0 - at, out->size));
	}
}

static void put_file(const struct model *model, struct random_state *random, struct buffer *out)
{
	static const uint8_t header[HEADER_BYTES];
	bool behind = model->lies & LIE_ATTRS_BEHIND;
	buffer_append(out, header, sizeof(header));
	if (buffer_failed(out))
		return;
	memcpy(out->data, model->big ? "2ELIFREP" : "PERFILE2", 8);
	patch(model, out, 8, HEADER_BYTES);
	if (!behind)
		put_attrs(model, out);
	size_t data = out->size;
	put_records(model, out);
	patch(model, out, 40, data);
	patch(model, out, 48, model->lies & LIE_ENDLESS ? 0 : out->size - data);
	put_features(model, random, out);
	if (behind)
		put_attrs(model, out);
	if (model->lies & LIE_SECTION) {
		size_t at = 8 * (1 + random_below(random, HEADER_BYTES / 8 - 1));
		patch(model, out, at,
		      mutator_number(random, model_get(model, out->data + at, 8), out->size));
	}
}

void model_put_together(struct model *model, struct random_state *random, struct buffer *out)
{
	if (model->pipe) {
		buffer_append(out, model->big ? "2ELIFREP" : "PERFILE2", 8);
		put(model, out, 16, 8);
		put_records(model, out);
	} else {
		put_file(model, random, out);
	}
	if (model->lies & LIE_CUT && out->size > 16)
		out->size -= random_below(random, out->size - 16);
}

/* ---- a file becomes a pipe, and back */

static void turn_to_pipe(struct model *model)
{
	static struct pieces all;
	uint8_t body[UINT16_MAX - RECORD_HEAD];
	all.count = 0;
	for (size_t i = 0; i < model->attr_count; i++) {
		const struct model_attr *attr = &model->attrs[i];
		size_t ids = attr->ids.size < 4096 ? attr->ids.size : 4096;
		memcpy(body, attr->bytes, attr->size);
		if (ids)
			memcpy(body + attr->size, attr->ids.data, ids);
		pieces_add(&all, model_record(model, PERF_FILE_ATTR, 0, body, attr->size + ids));
	}
	for (size_t i = 0; i < model->feature_count; i++) {
		struct span bytes = model->features[i].bytes;
		size_t size = bytes.size < sizeof(body) - 8 ? bytes.size : sizeof(body) - 8;
		model_put(model, body, model->features[i].bit, 8);
		if (size)
			memcpy(body + 8, bytes.data, size);
		pieces_add(&all, model_record(model, PERF_FILE_FEATURE, 0, body, size + 8));
	}
	for (size_t i = 0; i < model->records.count; i++)
		pieces_add(&all, model->records.list[i]);
	model->records = all;
	model->attr_count = model->feature_count = 0;
	model->pipe = true;
}

static void turn_to_file(struct model *model)
{
	size_t kept = 0;
	for (size_t i = 0; i < model->records.count; i++) {
		struct span record = model->records.list[i];
		const uint8_t *body = (const uint8_t *)record.data + RECORD_HEAD;
		size_t size = record.size - RECORD_HEAD;
		uint32_t type = model_type(model, record);
		if (type == PERF_FILE_ATTR && size >= 64) {
			uint64_t own = model_get(model, body + 4, 4);
			own = own < 64 || own > size ? size : own;
			take_attr(model, (struct span){ body, own },
				  (struct span){ body + own, size - own });
		} else if (type == PERF_FILE_FEATURE && size >= 8) {
			take_feature(model, (unsigned)model_get(model, body, 8) % PERF_FEATURE_BITS,
				     (struct span){ body + 8, size - 8 });
		} else {
			model->records.list[kept++] = record;
		}
	}
	model->records.count = kept;
	model->pipe = false;
}

void model_turn(struct model *model)
{
	if (model->pipe)
		turn_to_file(model);
	else
		turn_to_pipe(model);
}
