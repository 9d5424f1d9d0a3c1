/*
 * perf_data_mutator - perf.data files changed by what they are made of: records
 * recombined, packed within one another, turned into the other byte order, files
 * into pipes, features over each other, numbers that wrap. The first byte is the
 * target's own (import_bytes.h).
 */
#include <string.h>
#include <zstd.h>

#include "base/count_of.h"
#include "import/perf_data/perf_data_types.h"
#include "machine/perf_record.h"
#include "perf_data_model.h"

#define RECORD_HEAD    8
#define PACKED_MOST    (32u << 10) /* bytes that a frame is unpacked to: some of a reader's rooms */
#define CHANGES_MOST   4
#define UNPACKED_ROUND 64u /* one frame in so many is filled */

static struct model model, other;
static uint8_t plain[PACKED_MOST], packed[PACKED_MOST + 4096];

static struct span *any_record(struct random_state *random)
{
	return model.records.count ? &model.records.list[random_below(random, model.records.count)]
				   : NULL;
}

static void own_copy(struct span *bytes)
{
	uint8_t *copy = mutator_room(bytes->size);
	if (!copy || !bytes->size) {
		*bytes = (struct span){ NULL, 0 };
		return;
	}
	memcpy(copy, bytes->data, bytes->size);
	bytes->data = copy;
}

/* ---- one record */

static void fit_size(struct span *record)
{
	if (record->size >= RECORD_HEAD && record->size <= UINT16_MAX)
		model_put(&model, (uint8_t *)record->data + 6, record->size, 2);
}

static void change_bytes(struct random_state *random, struct span *record)
{
	*record = mutator_bytes(*record, random);
	if (!random_one_in(random, 8))
		fit_size(record);
}

static void change_number(struct random_state *random, struct span *record)
{
	static const uint8_t widths[] = { 2, 4, 8, 8 };
	size_t width = widths[random_below(random, COUNT_OF(widths))];
	own_copy(record);
	if (record->size < RECORD_HEAD + width)
		return;
	size_t at =
		RECORD_HEAD + random_below(random, (record->size - RECORD_HEAD) / width) * width;
	uint8_t *bytes = (uint8_t *)record->data + at;
	model_put(&model, bytes,
		  mutator_number(random, model_get(&model, bytes, width), record->size), width);
}

/* Type, misc or size, without the rest to fit. */
static void change_head(struct random_state *random, struct span *record)
{
	own_copy(record);
	if (record->size < RECORD_HEAD)
		return;
	uint8_t *head = (uint8_t *)record->data;
	switch (random_below(random, 3)) {
	case 0:
		model_put(&model, head, random_below(random, 100), 4);
		break;
	case 1:
		model_put(&model, head + 4,
			  mutator_number(random, model_get(&model, head + 4, 2), 0), 2);
		break;
	default:
		model_put(&model, head + 6,
			  mutator_number(random, model_get(&model, head + 6, 2), record->size), 2);
		break;
	}
}

/* ---- records in records */

/* What is in `plain` as one frame of zstd, or as several: their ends are where a reader looks for
 * more. Into `packed`; how many bytes. */
static size_t packed_plain(struct random_state *random, size_t size)
{
	static ZSTD_CCtx *packer;
	size_t used = 0, frames = random_one_in(random, 2) ? 1 : 1 + random_below(random, 8);
	if (!packer)
		packer = ZSTD_createCCtx();
	for (size_t at = 0; frames; frames--) {
		size_t part = (size - at) / frames;
		size_t more = ZSTD_compressCCtx(packer, packed + used, sizeof(packed) - used,
						plain + at, part, 1);
		if (ZSTD_isError(more))
			break;
		used += more;
		at += part;
	}
	return used;
}

/* Several of them as one stream, in one or more COMPRESSED records; what is in them may be
 * compressed already. */
static void pack_some(struct random_state *random)
{
	struct pieces *records = &model.records;
	if (!records->count)
		return;
	size_t first = random_below(random, records->count);
	size_t count = 1 + random_below(random, records->count - first);
	size_t size = 0;
	uint64_t times = random_one_in(random, UNPACKED_ROUND) ? 1u << 12
			 : random_one_in(random, 8)	       ? random_below(random, 64)
							       : 1;
	while (times--) {
		size_t before = size;
		for (size_t i = first; i < first + count; i++) {
			struct span record = records->list[i];
			if (record.size > sizeof(plain) - size)
				break;
			if (record.size)
				memcpy(plain + size, record.data, record.size);
			size += record.size;
		}
		if (size == before || sizeof(plain) - size < (size - before))
			break;
	}
	if (random_one_in(random, 8))
		size -= random_below(random, size + 1);
	size_t left = packed_plain(random, size);
	static struct pieces rest;
	rest.count = 0;
	for (size_t i = first + count; i < records->count; i++)
		pieces_add(&rest, records->list[i]);
	records->count = random_one_in(random, 4) ? first + count : first;
	const uint8_t *at = packed;
	bool second = random_one_in(random, 2);
	uint32_t type = second ? PERF_FILE_COMPRESSED2 : PERF_FILE_COMPRESSED;
	while (left) {
		uint8_t body[4096 + 8];
		size_t part = left < 4096 ? left : 4096;
		if (random_one_in(random, 3))
			part = 1 + random_below(random, part);
		model_put(&model, body, part, 8);
		memcpy(body + (second ? 8 : 0), at, part);
		pieces_add(records, model_record(&model, type, 0, body, part + (second ? 8 : 0)));
		if (random_one_in(random, 4) && rest.count) /* one between them */
			pieces_add(records, rest.list[random_below(random, rest.count)]);
		at += part;
		left -= part;
	}
	for (size_t i = 0; i < rest.count; i++)
		pieces_add(records, rest.list[i]);
}

/* All COMPRESSED records as what is in them, as far as it is sound. */
static void unpack_all(void)
{
	static struct pieces all;
	static ZSTD_DCtx *unpacker; /* what is more than that is left out */
	if (!unpacker)
		unpacker = ZSTD_createDCtx();
	ZSTD_DCtx_reset(unpacker, ZSTD_reset_session_only);
	ZSTD_outBuffer out = { plain, sizeof(plain), 0 };
	all.count = 0;
	for (size_t i = 0; i < model.records.count; i++) {
		struct span record = model.records.list[i];
		uint32_t type = model_type(&model, record);
		size_t head = type == PERF_FILE_COMPRESSED2 ? RECORD_HEAD + 8 : RECORD_HEAD;
		if ((type != PERF_FILE_COMPRESSED && type != PERF_FILE_COMPRESSED2) ||
		    record.size < head) {
			pieces_add(&all, record);
			continue;
		}
		ZSTD_inBuffer in = { (const uint8_t *)record.data + head, record.size - head, 0 };
		while (in.pos < in.size) {
			size_t before = in.pos;
			size_t ret = ZSTD_decompressStream(unpacker, &out, &in);
			if (ZSTD_isError(ret) || in.pos == before)
				break;
		}
	}
	for (size_t at = 0; out.pos - at >= RECORD_HEAD;) {
		size_t size = model_get(&model, plain + at + 6, 2);
		if (size < RECORD_HEAD || size > out.pos - at)
			break;
		struct span record = { plain + at, size };
		own_copy(&record);
		pieces_add(&all, record);
		at += size;
	}
	model.records = all;
}

/* ---- records that were not there */

static void put_words(uint8_t *body, size_t *size, struct random_state *random, size_t count)
{
	while (count--) {
		uint64_t word = random_one_in(random, 2) ? random_below(random, 64)
							 : mutator_number(random, 0x400000, 4096);
		model_put(&model, body + *size, word, 8);
		*size += 8;
	}
}

/* A record of perf's own, with contents that mean something: an attribute that is there, an id that
 * an event has, bytes of a feature. */
static void insert_fresh(struct random_state *random)
{
	static const uint32_t types[] = {
		PERF_FILE_ATTR,
		PERF_FILE_EVENT_TYPE,
		PERF_FILE_TRACING_DATA,
		PERF_FILE_BUILD_ID,
		PERF_FILE_FINISHED_ROUND,
		PERF_FILE_AUXTRACE_INFO,
		PERF_FILE_AUXTRACE,
		PERF_FILE_EVENT_UPDATE,
		PERF_FILE_FEATURE,
		PERF_FILE_COMPRESSED,
		PERF_FILE_COMPRESSED2,
		PERF_RECORD_SAMPLE,
		PERF_RECORD_MMAP,
		PERF_RECORD_MMAP2,
		PERF_RECORD_COMM,
		PERF_RECORD_FORK,
		PERF_RECORD_EXIT,
		PERF_RECORD_LOST,
		PERF_RECORD_THROTTLE,
		PERF_RECORD_KSYMBOL,
		PERF_RECORD_CGROUP,
		PERF_RECORD_AUX,
		32768 + 1,
		32768 + 2,
	};
	uint8_t body[1024];
	size_t size = 0;
	uint32_t type = types[random_below(random, COUNT_OF(types))];
	const struct model_attr *attr =
		model.attr_count ? &model.attrs[random_below(random, model.attr_count)] : NULL;
	if (type == PERF_FILE_ATTR && attr) {
		memcpy(body, attr->bytes, attr->size);
		size = attr->size;
		put_words(body, &size, random, random_below(random, 4));
	} else if (type == PERF_FILE_EVENT_UPDATE) {
		model_put(&model, body, random_below(random, 5), 8);
		memset(body + 8, 0, 8);
		if (attr && attr->ids.size >= 8)
			memcpy(body + 8, attr->ids.data, 8);
		size = 16;
		put_words(body, &size, random, random_below(random, 4));
	} else if (type == PERF_FILE_FEATURE && model.feature_count) {
		const struct model_feature *feature =
			&model.features[random_below(random, model.feature_count)];
		model_put(&model, body, feature->bit, 8);
		size = feature->bytes.size < sizeof(body) - 8 ? feature->bytes.size
							      : sizeof(body) - 8;
		if (size)
			memcpy(body + 8, feature->bytes.data, size);
		size += 8;
	} else if (type != PERF_FILE_FINISHED_ROUND) {
		put_words(body, &size, random, random_below(random, 24));
	}
	struct pieces one = { .count = 0 };
	pieces_add(&one, model_record(&model, type, (uint16_t)random_below(random, 4), body, size));
	pieces_cross(&model.records, &one, random);
}

/* ---- attributes and features */

static void change_attr(struct random_state *random)
{
	if (!model.attr_count)
		return;
	size_t at = random_below(random, model.attr_count);
	struct model_attr *attr = &model.attrs[at];
	size_t word;
	switch (random_below(random, 6)) {
	case 0: /* sample_type, read_format, flags, branch_sample_type or registers, by a bit */
		word = (size_t[]){ 24, 32, 40, 72, 80 }[random_below(random, 5)];
		attr->bytes[word + random_below(random, 8)] ^=
			(uint8_t)(1u << random_below(random, 8));
		break;
	case 1:
		model_put(&model, attr->bytes + 4, mutator_number(random, attr->size, ATTR_BYTES),
			  4);
		break;
	case 2:
		attr->size = 64 + 8 * random_below(random, (ATTR_BYTES - 64) / 8 + 1);
		if (!random_one_in(random, 4))
			model_put(&model, attr->bytes + 4, attr->size, 4);
		break;
	case 3:
		if (model.attr_count < MODEL_ATTRS)
			model.attrs[model.attr_count++] = *attr;
		break;
	case 4:
		*attr = model.attrs[--model.attr_count];
		break;
	default:
		attr->ids = model.attrs[random_below(random, model.attr_count)].ids;
		break;
	}
}

static void change_feature(struct random_state *random)
{
	if (!model.feature_count)
		return;
	struct model_feature *feature = &model.features[random_below(random, model.feature_count)];
	switch (random_below(random, 5)) {
	case 0:
		feature->bytes = mutator_bytes(feature->bytes, random);
		break;
	case 1:
		feature->bit = (unsigned)random_below(random, 32);
		break;
	case 2:
		*feature = model.features[--model.feature_count];
		break;
	case 3:
		feature->bytes = model.features[random_below(random, model.feature_count)].bytes;
		break;
	default:
		own_copy(&feature->bytes);
		if (feature->bytes.size >= 4) {
			size_t word = random_below(random, feature->bytes.size / 4) * 4;
			uint8_t *bytes = (uint8_t *)feature->bytes.data + word;
			model_put(&model, bytes,
				  mutator_number(random, model_get(&model, bytes, 4),
						 feature->bytes.size),
				  4);
		}
		break;
	}
}

static void change(struct random_state *random)
{
	struct span *record = any_record(random);
	switch (random_below(random, 14)) {
	case 0:
	case 1:
	case 2:
		pieces_change(&model.records, random);
		break;
	case 3:
		if (record)
			change_bytes(random, record);
		break;
	case 4:
	case 5:
		if (record)
			change_number(random, record);
		break;
	case 6:
		if (record)
			change_head(random, record);
		break;
	case 7:
		pack_some(random);
		break;
	case 8:
		unpack_all();
		break;
	case 9:
		insert_fresh(random);
		break;
	case 10:
		change_attr(random);
		break;
	case 11:
		change_feature(random);
		break;
	case 12:
		if (random_one_in(random, 2))
			model_swap(&model);
		else
			model_turn(&model);
		break;
	default:
		model.lies |= 1u << random_below(random, 7);
		break;
	}
}

static size_t written(struct random_state *random, uint8_t options, uint8_t *data, size_t max_size)
{
	static struct buffer file;
	file.size = 0;
	model_put_together(&model, random, &file);
	return mutator_written(options, (struct span){ file.data, file.size }, data, max_size);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	struct random_state random = random_seed(seed);
	mutator_begin();
	if (random_one_in(&random, 10) || size < 2 ||
	    !model_take_apart(&model, (struct span){ data + 1, size - 1 }))
		return LLVMFuzzerMutate(data, size, max_size);
	uint8_t options = random_one_in(&random, 8) ? (uint8_t)random_u64(&random) : data[0];
	for (uint64_t times = 1 + random_below(&random, CHANGES_MOST); times--;)
		change(&random);
	return written(&random, options, data, max_size);
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t *first, size_t first_size, const uint8_t *second,
				 size_t second_size, uint8_t *out, size_t max_size, unsigned seed)
{
	struct random_state random = random_seed(seed);
	mutator_begin();
	if (first_size < 2 || second_size < 2 ||
	    !model_take_apart(&model, (struct span){ first + 1, first_size - 1 }) ||
	    !model_take_apart(&other, (struct span){ second + 1, second_size - 1 }))
		return 0;
	if (other.big != model.big && !random_one_in(&random, 8))
		model_swap(&other);
	pieces_cross(&model.records, &other.records, &random);
	if (random_one_in(&random, 4) && other.attr_count) {
		memcpy(model.attrs, other.attrs, sizeof(model.attrs));
		model.attr_count = other.attr_count;
	}
	if (random_one_in(&random, 4) && other.feature_count &&
	    model.feature_count < MODEL_FEATURES)
		model.features[model.feature_count++] =
			other.features[random_below(&random, other.feature_count)];
	return written(&random, first[0], out, max_size);
}
