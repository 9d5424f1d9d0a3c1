#include "import/pprof/pprof_labels.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/count_of.h"
#include "base/hash.h"
#include "import/pprof/pprof_places.h"
#include "import/pprof/pprof_wire.h"
#include "profile/profile.h"

/* A label, texts by their numbers in the profile, and the line that it is written as. */
struct pprof_known_label {
	uint32_t key, text, unit; /* 0: empty */
	uint32_t line;		  /* in `lines` */
	uint64_t number;
	bool is_text;
};

void pprof_labels_init(struct pprof_labels *labels, struct profile *profile)
{
	*labels = (struct pprof_labels){ .profile = profile };
}

void pprof_labels_release(struct pprof_labels *labels)
{
	hash_index_release(&labels->known_index);
	number_map_release(&labels->plain);
	byte_pool_release(&labels->lines);
	byte_pool_release(&labels->lists);
	buffer_release(&labels->text);
	free(labels->known);
	free(labels->list);
	free(labels->joined);
	*labels = (struct pprof_labels){ 0 };
}

/* ---- lines */

/* The number of a text with blanks for its newlines; 0 when it is empty. */
static int plain_text(struct pprof_labels *labels, struct pprof_places *places, uint64_t number,
		      uint32_t *plain)
{
	struct span text;
	*plain = (uint32_t)(uintptr_t)number_map_find(&labels->plain, number);
	if (*plain || !pprof_text(places, number, &text) || !text.size)
		return 0;
	int ret;
	if (!memchr(text.data, '\n', text.size)) {
		ret = pprof_text_id(places, number, plain);
	} else {
		buffer_empty(&labels->text);
		for (size_t i = 0; i < text.size; i++) {
			uint8_t c = ((const uint8_t *)text.data)[i];
			buffer_append_u8(&labels->text, c == '\n' ? ' ' : c);
		}
		const struct span made = { labels->text.data, labels->text.size };
		ret = buffer_failed(&labels->text)
			      ? -ENOMEM
			      : profile_add_bytes(labels->profile, made, plain);
	}
	return ret < 0 ? ret : number_map_put(&labels->plain, number, (void *)(uintptr_t)*plain);
}

static bool label_equal(const void *rows, uint32_t position, const void *wanted)
{
	const struct pprof_known_label *a = (const struct pprof_known_label *)rows + position;
	const struct pprof_known_label *b = wanted;
	return a->key == b->key && a->text == b->text && a->unit == b->unit &&
	       a->number == b->number && a->is_text == b->is_text;
}

static uint64_t label_hash(const struct pprof_known_label *label)
{
	return hash_u64(((uint64_t)label->key << 32 | label->text) ^
			hash_u64(label->number ^ hash_u64(label->unit)));
}

static void append_plain(struct pprof_labels *labels, uint32_t text)
{
	const struct span bytes = profile_bytes(labels->profile, text);
	if (bytes.size)
		buffer_append(&labels->text, bytes.data, bytes.size);
}

/* Writes the line "KEY=VALUE UNIT" of a label and stores its number. */
static int write_line(struct pprof_labels *labels, const struct pprof_known_label *label,
		      uint32_t *line)
{
	buffer_empty(&labels->text);
	append_plain(labels, label->key);
	buffer_append_u8(&labels->text, '=');
	if (label->is_text)
		append_plain(labels, label->text);
	else
		buffer_printf(&labels->text, "%" PRId64, (int64_t)label->number);
	if (label->unit) {
		buffer_append_u8(&labels->text, ' ');
		append_plain(labels, label->unit);
	}
	const struct span text = { labels->text.data, labels->text.size };
	return buffer_failed(&labels->text) ? -ENOMEM : byte_pool_add(&labels->lines, text, line);
}

/* The number of the line of a label as the file has it. Each text is read once: one may be long and
 * in all samples. */
static int line_of(struct pprof_labels *labels, struct pprof_places *places,
		   const struct pprof_label *label, uint32_t *line)
{
	const bool is_text = label->text;
	struct pprof_known_label wanted = { .is_text = is_text,
					    .number = is_text ? 0 : label->number };
	if (plain_text(labels, places, label->key, &wanted.key) < 0 ||
	    (is_text && plain_text(labels, places, label->text, &wanted.text) < 0) ||
	    (!is_text && plain_text(labels, places, label->unit, &wanted.unit) < 0))
		return -ENOMEM;
	uint64_t hash = label_hash(&wanted);
	uint32_t at =
		hash_index_find(&labels->known_index, hash, label_equal, labels->known, &wanted);
	if (at == HASH_INDEX_NONE) {
		at = (uint32_t)labels->known_count;
		if (array_reserve(&labels->known, &labels->known_capacity, at,
				  sizeof(*labels->known)) < 0 ||
		    write_line(labels, &wanted, &wanted.line) < 0 ||
		    hash_index_add(&labels->known_index, hash, at) < 0)
			return -ENOMEM;
		labels->known[labels->known_count++] = wanted;
	}
	*line = labels->known[at].line;
	return 0;
}

static int add_line(struct pprof_labels *labels, struct pprof_places *places,
		    const struct pprof_label *label)
{
	if (array_reserve(&labels->list, &labels->capacity, labels->count, sizeof(*labels->list)) <
	    0)
		return -ENOMEM;
	return line_of(labels, places, label, &labels->list[labels->count++]);
}

/* ---- contexts */

struct pprof_context {
	struct profile_context numbers;
	struct profile_context_texts texts;
};

/* Is the label a part of a context? Fills it when it is; `text` is the number of its text. */
static bool is_part(struct pprof_context *whole, struct span key, const struct pprof_label *label,
		    uint32_t text)
{
	struct profile_context *context = &whole->numbers;
	struct profile_context_texts *texts = &whole->texts;
	const struct {
		const char *key;
		uint32_t *text;
		uint64_t *number;
	} parts[] = {
		{ "comm", &texts->comm, NULL },		  { "cgroup", &texts->cgroup, NULL },
		{ "container", &texts->container, NULL }, { "thread", &texts->thread, NULL },
		{ "thread_comm", &texts->thread, NULL },  { "core_type", &texts->core_type, NULL },
		{ "pid", NULL, &context->pid },		  { "tid", NULL, &context->tid },
		{ "cpu", NULL, &context->cpu },
	};
	for (size_t i = 0; i < COUNT_OF(parts); i++) {
		if (!span_equal(key, span_of_text(parts[i].key)))
			continue;
		if (parts[i].text && text && !*parts[i].text)
			*parts[i].text = text;
		else if (parts[i].number && !label->text && label->number <= INT64_MAX &&
			 !*parts[i].number)
			*parts[i].number = optional_of(label->number);
		else
			return false;
		return true;
	}
	return false;
}

static int compare_numbers(const void *a, const void *b)
{
	const uint32_t *left = a, *right = b;
	return (*left > *right) - (*left < *right);
}

static int compare_lines(const void *a, const void *b, void *context)
{
	const uint32_t *left = a, *right = b;
	const struct byte_pool *lines = context;
	return span_compare(byte_pool_get(lines, *left), byte_pool_get(lines, *right));
}

/* The lines one below the other, in the order of their words. */
static int write_joined(struct pprof_labels *labels, uint32_t *id)
{
	qsort_r(labels->list, labels->count, sizeof(*labels->list), compare_lines, &labels->lines);
	buffer_empty(&labels->text);
	for (size_t i = 0; i < labels->count; i++) {
		const struct span line = byte_pool_get(&labels->lines, labels->list[i]);
		if (i)
			buffer_append_u8(&labels->text, '\n');
		buffer_append(&labels->text, line.data, line.size);
	}
	const struct span text = { labels->text.data, labels->text.size };
	return buffer_failed(&labels->text) ? -ENOMEM
					    : profile_add_bytes(labels->profile, text, id);
}

/* The number of a sample's lines as one text, which is written once for each set of lines. */
static int join(struct pprof_labels *labels, uint32_t *id)
{
	uint32_t number;
	qsort(labels->list, labels->count, sizeof(*labels->list), compare_numbers);
	const struct span lines = { labels->list, labels->count * sizeof(*labels->list) };
	if (byte_pool_add(&labels->lists, lines, &number) < 0 ||
	    array_reserve(&labels->joined, &labels->joined_capacity, number,
			  sizeof(*labels->joined)) < 0)
		return -ENOMEM;
	if (number > labels->joined_count) {
		if (write_joined(labels, &labels->joined[number - 1]) < 0)
			return -ENOMEM;
		labels->joined_count = number;
	}
	*id = labels->joined[number - 1];
	return 0;
}

static int take_label(struct pprof_labels *labels, struct pprof_places *places,
		      const struct pprof_label *label, struct pprof_context *context)
{
	struct span key, text, unit;
	uint32_t number = 0;
	bool known = pprof_text(places, label->key, &key);
	known &= pprof_text(places, label->text, &text);
	known &= pprof_text(places, label->unit, &unit);
	if (!known && pprof_dangling(places) < 0)
		return -EBADMSG;
	if (label->text && pprof_text_id(places, label->text, &number) < 0)
		return -ENOMEM;
	return is_part(context, key, label, number) ? 0 : add_line(labels, places, label);
}

int pprof_labels_context(struct pprof_labels *labels, struct pprof_places *places,
			 struct span sample, size_t count, uint32_t *id)
{
	struct pprof_context context = { 0 };
	struct cursor cursor = cursor_of(sample.data, sample.size);
	struct pprof_label label;
	labels->count = 0;
	*id = 0;
	while (count && pprof_next_label(&cursor, &label)) {
		int ret = take_label(labels, places, &label, &context);
		if (ret < 0)
			return ret;
	}
	if (cursor.failed)
		return -EBADMSG;
	if (count == 0)
		return 0;
	if (labels->count && join(labels, &context.texts.labels) < 0)
		return -ENOMEM;
	return profile_add_context_by_ids(labels->profile, &context.numbers, &context.texts, id);
}
