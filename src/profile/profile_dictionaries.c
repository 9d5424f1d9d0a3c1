/*
 * Rows that have texts: events, images, contexts, sources. A list of fields says where each column
 * is in the structure that callers know, in the order of profile_columns.c.
 */
#include "profile/profile_private.h"

#include <stddef.h>
#include <string.h>

#include "base/count_of.h"

struct field {
	size_t offset;	      /* in the structure: of a struct span, or of a uint64_t */
	bool text;	      /* a struct span, which becomes an id */
	size_t number_offset; /* of a text: in the structure of texts' ids */
};

#define TEXT(of, member)                                                                           \
	{                                                                                          \
		offsetof(struct profile_##of, member), true,                                       \
			offsetof(struct profile_##of##_texts, member)                              \
	}
#define ONLY_TEXT(of, member)                                                                      \
	{                                                                                          \
		offsetof(struct profile_##of, member), true, 0                                     \
	}
#define NUMBER(of, member)                                                                         \
	{                                                                                          \
		offsetof(struct profile_##of, member), false, 0                                    \
	}

static const struct field event_fields[] = {
	TEXT(event, name),	TEXT(event, unit),	NUMBER(event, scale),
	TEXT(event, pmu),	TEXT(event, core_type), NUMBER(event, type),
	NUMBER(event, config),	NUMBER(event, config1), NUMBER(event, config2),
	NUMBER(event, clock),	NUMBER(event, policy),	NUMBER(event, period),
	NUMBER(event, precise), NUMBER(event, exclude), NUMBER(event, skid),
	NUMBER(event, origin),	NUMBER(event, sampled), TEXT(event, leader),
	NUMBER(event, apart),
};
static const struct field image_fields[] = {
	NUMBER(image, kind), NUMBER(image, space), TEXT(image, build_id),
	TEXT(image, hash),   TEXT(image, name),	   NUMBER(image, writer),
};
static const struct field context_fields[] = {
	TEXT(context, comm),   TEXT(context, cgroup),	  TEXT(context, container),
	NUMBER(context, pid),  NUMBER(context, start_ns), NUMBER(context, tid),
	TEXT(context, thread), NUMBER(context, cpu),	  TEXT(context, core_type),
	TEXT(context, labels),
};
static const struct field source_fields[] = {
	ONLY_TEXT(source, host),       ONLY_TEXT(source, boot_id),    ONLY_TEXT(source, kernel),
	ONLY_TEXT(source, machine),    ONLY_TEXT(source, cpu_vendor), ONLY_TEXT(source, cpu_model),
	ONLY_TEXT(source, cpu_name),   ONLY_TEXT(source, microcode),  ONLY_TEXT(source, smt),
	ONLY_TEXT(source, governor),   ONLY_TEXT(source, turbo),      ONLY_TEXT(source, frequency),
	ONLY_TEXT(source, hypervisor), ONLY_TEXT(source, clock),      ONLY_TEXT(source, command),
	ONLY_TEXT(source, tool),       ONLY_TEXT(source, labels),     NUMBER(source, cpus),
	NUMBER(source, start_ns),      NUMBER(source, epoch),
};

#define MOST_FIELDS COUNT_OF(source_fields)
_Static_assert(COUNT_OF(event_fields) <= MOST_FIELDS, "rows have room for all fields");

static const struct span *text_of(const struct field *field, const void *object)
{
	return (const struct span *)((const char *)object + field->offset);
}

static uint64_t number_of(const struct field *field, const void *object)
{
	return *(const uint64_t *)((const char *)object + field->offset);
}

/* The key slots of an object; its texts are added to the pool. 0 or -ENOMEM. */
static int make_row(struct profile *profile, const struct field *fields, size_t count,
		    const void *object, uint64_t *row)
{
	for (size_t i = 0; i < count; i++) {
		uint32_t id;
		if (!fields[i].text) {
			row[i] = number_of(&fields[i], object);
			continue;
		}
		int ret = profile_add_bytes(profile, *text_of(&fields[i], object), &id);
		if (ret < 0)
			return ret;
		row[i] = id;
	}
	return 0;
}

/* The same with the ids of the texts, from the structure `texts`. */
static void make_row_of(const struct field *fields, size_t count, const void *object,
			const void *texts, uint64_t *row)
{
	for (size_t i = 0; i < count; i++)
		row[i] =
			fields[i].text
				? *(const uint32_t *)((const char *)texts + fields[i].number_offset)
				: number_of(&fields[i], object);
}

static void read_row(const struct profile *profile, const struct field *fields, size_t count,
		     const uint64_t *row, void *object)
{
	for (size_t i = 0; i < count; i++) {
		char *at = (char *)object + fields[i].offset;
		if (fields[i].text)
			*(struct span *)at = profile_bytes(profile, row[i]);
		else
			*(uint64_t *)at = row[i];
	}
}

static int add_to_dictionary(struct profile *profile, enum profile_table which, const uint64_t *row,
			     size_t count, uint32_t *id)
{
	uint32_t position;
	int ret = profile_add_row(profile, which, row, count, NULL, 0, &position);
	if (ret == 0)
		*id = position + 1;
	return ret;
}

static int add(struct profile *profile, enum profile_table which, const struct field *fields,
	       size_t count, const void *object, uint32_t *id)
{
	uint64_t row[MOST_FIELDS];
	int ret = make_row(profile, fields, count, object, row);
	return ret < 0 ? ret : add_to_dictionary(profile, which, row, count, id);
}

static int add_of(struct profile *profile, enum profile_table which, const struct field *fields,
		  size_t count, const void *object, const void *texts, uint32_t *id)
{
	uint64_t row[MOST_FIELDS];
	make_row_of(fields, count, object, texts, row);
	return add_to_dictionary(profile, which, row, count, id);
}

int profile_add_event(struct profile *profile, const struct profile_event *event, uint32_t *id)
{
	return add(profile, PROFILE_EVENT, event_fields, COUNT_OF(event_fields), event, id);
}

int profile_add_event_by_ids(struct profile *profile, const struct profile_event *event,
			     const struct profile_event_texts *texts, uint32_t *id)
{
	return add_of(profile, PROFILE_EVENT, event_fields, COUNT_OF(event_fields), event, texts,
		      id);
}

struct profile_event profile_event(const struct profile *profile, uint64_t id)
{
	struct profile_event event;
	read_row(profile, event_fields, COUNT_OF(event_fields),
		 table_keys(profile->tables[PROFILE_EVENT], id - 1), &event);
	return event;
}

int profile_add_image(struct profile *profile, const struct profile_image *image, uint32_t *id)
{
	return add(profile, PROFILE_IMAGE, image_fields, COUNT_OF(image_fields), image, id);
}

int profile_add_image_by_ids(struct profile *profile, const struct profile_image *image,
			     const struct profile_image_texts *texts, uint32_t *id)
{
	return add_of(profile, PROFILE_IMAGE, image_fields, COUNT_OF(image_fields), image, texts,
		      id);
}

struct profile_image profile_image(const struct profile *profile, uint64_t id)
{
	struct profile_image image;
	read_row(profile, image_fields, COUNT_OF(image_fields),
		 table_keys(profile->tables[PROFILE_IMAGE], id - 1), &image);
	return image;
}

bool profile_image_equal(const struct profile_image *a, const struct profile_image *b)
{
	return a->kind == b->kind && a->space == b->space && span_equal(a->build_id, b->build_id) &&
	       span_equal(a->hash, b->hash) && span_equal(a->name, b->name) &&
	       a->writer == b->writer;
}

uint32_t profile_find_image(const struct profile *profile, const struct profile_image *image)
{
	size_t count = profile_table(profile, PROFILE_IMAGE)->count;
	for (uint32_t id = 1; id <= count; id++) {
		const struct profile_image found = profile_image(profile, id);
		if (profile_image_equal(&found, image))
			return id;
	}
	return 0;
}

int profile_add_path(struct profile *profile, uint32_t image, struct span path)
{
	return profile_add_seen_path(profile, image, path, PATH_REPORTED);
}

static int add_path(struct profile *profile, uint32_t image, uint32_t path, enum path_seen seen)
{
	const uint64_t row[] = { image, path };
	const uint64_t value = seen;
	return profile_add_row(profile, PROFILE_PATH, row, COUNT_OF(row), &value, 1, NULL);
}

int profile_add_path_by_ids(struct profile *profile, uint32_t image, uint32_t path)
{
	return add_path(profile, image, path, PATH_REPORTED);
}

int profile_add_seen_path(struct profile *profile, uint32_t image, struct span path,
			  enum path_seen seen)
{
	uint32_t id;
	int ret = profile_add_bytes(profile, path, &id);
	return ret < 0 ? ret : add_path(profile, image, id, seen);
}

bool profile_path_is_better(const struct profile *profile, size_t row, size_t other)
{
	const struct table *paths = profile_table(profile, PROFILE_PATH);
	uint64_t seen = table_values(paths, row)[PATH_SEEN];
	uint64_t other_seen = table_values(paths, other)[PATH_SEEN];
	if (seen != other_seen)
		return seen > other_seen;
	return span_compare(profile_bytes(profile, table_keys(paths, row)[PATH_PATH]),
			    profile_bytes(profile, table_keys(paths, other)[PATH_PATH])) < 0;
}

bool profile_image_other_build(const struct profile_image *a, const struct profile_image *b)
{
	if (a->build_id.size && b->build_id.size && !span_equal(a->build_id, b->build_id))
		return true;
	return a->hash.size && b->hash.size &&
	       (!span_equal(a->hash, b->hash) || a->writer != b->writer);
}

bool profile_image_same_build(const struct profile_image *a, const struct profile_image *b)
{
	if (a->hash.size && b->hash.size)
		return span_equal(a->hash, b->hash) && span_equal(a->build_id, b->build_id) &&
		       a->writer == b->writer;
	return a->build_id.size && span_equal(a->build_id, b->build_id) &&
	       span_equal(a->name, b->name);
}

static bool has(const struct profile *profile, enum profile_table table, const struct field *fields,
		size_t count, const void *object)
{
	uint64_t row[TABLE_MAX_COLUMNS] = { 0 };
	for (size_t i = 0; i < count; i++) {
		const struct field *field = &fields[i];
		uint32_t id = 0;
		if (!field->text)
			row[i] = number_of(field, object);
		else if (!text_of(field, object)->data)
			row[i] = 0;
		else if (byte_pool_find(&profile->bytes, *text_of(field, object), &id))
			row[i] = id;
		else
			return false;
	}
	return table_has(profile->tables[table], row);
}

bool profile_has_context(const struct profile *profile, const struct profile_context *context)
{
	return has(profile, PROFILE_CONTEXT, context_fields, COUNT_OF(context_fields), context);
}

int profile_add_context(struct profile *profile, const struct profile_context *context,
			uint32_t *id)
{
	return add(profile, PROFILE_CONTEXT, context_fields, COUNT_OF(context_fields), context, id);
}

int profile_add_context_by_ids(struct profile *profile, const struct profile_context *context,
			       const struct profile_context_texts *texts, uint32_t *id)
{
	return add_of(profile, PROFILE_CONTEXT, context_fields, COUNT_OF(context_fields), context,
		      texts, id);
}

struct profile_context profile_context(const struct profile *profile, uint64_t id)
{
	struct profile_context context;
	read_row(profile, context_fields, COUNT_OF(context_fields),
		 table_keys(profile->tables[PROFILE_CONTEXT], id - 1), &context);
	return context;
}

int profile_add_source(struct profile *profile, const struct profile_source *source)
{
	uint64_t row[COUNT_OF(source_fields)];
	int ret = make_row(profile, source_fields, COUNT_OF(source_fields), source, row);
	return ret < 0 ? ret
		       : profile_add_row(profile, PROFILE_SOURCE, row, COUNT_OF(row),
					 &source->duration_ns, 1, NULL);
}

bool profile_has_source(const struct profile *profile, const struct profile_source *source)
{
	return has(profile, PROFILE_SOURCE, source_fields, COUNT_OF(source_fields), source);
}

struct profile_source profile_source(const struct profile *profile, size_t row)
{
	const struct table *table = profile->tables[PROFILE_SOURCE];
	struct profile_source source = { .duration_ns = table_values(table, row)[0] };
	read_row(profile, source_fields, COUNT_OF(source_fields), table_keys(table, row), &source);
	return source;
}
