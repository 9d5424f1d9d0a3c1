#include "import/pprof/pprof_labels.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/count_of.h"
#include "import/pprof/pprof_places.h"
#include "import/pprof/pprof_wire.h"
#include "profile/profile.h"

struct pprof_label_line {
	size_t start, size; /* in `lines` */
};

void pprof_labels_init(struct pprof_labels *labels, struct profile *profile)
{
	*labels = (struct pprof_labels){ .profile = profile };
}

void pprof_labels_release(struct pprof_labels *labels)
{
	buffer_release(&labels->lines);
	buffer_release(&labels->joined);
	free(labels->list);
	*labels = (struct pprof_labels){ 0 };
}

/* One line stays one line. */
static void append_plain(struct buffer *out, struct span text)
{
	for (size_t i = 0; i < text.size; i++) {
		uint8_t c = ((const uint8_t *)text.data)[i];
		buffer_append_u8(out, c == '\n' ? ' ' : c);
	}
}

static int add_line(struct pprof_labels *labels, struct span key, const struct pprof_label *label,
		    struct span text, struct span unit)
{
	size_t start = labels->lines.size;
	append_plain(&labels->lines, key);
	buffer_append_u8(&labels->lines, '=');
	if (label->text)
		append_plain(&labels->lines, text);
	else
		buffer_printf(&labels->lines, "%" PRId64, (int64_t)label->number);
	if (!label->text && unit.size) {
		buffer_append_u8(&labels->lines, ' ');
		append_plain(&labels->lines, unit);
	}
	if (buffer_failed(&labels->lines) ||
	    array_reserve(&labels->list, &labels->capacity, labels->count, sizeof(*labels->list)) <
		    0)
		return -ENOMEM;
	labels->list[labels->count++] =
		(struct pprof_label_line){ start, labels->lines.size - start };
	return 0;
}

/* Is the label a part of a context? Fills it when it is. */
static bool is_part(struct profile_context *context, struct span key,
		    const struct pprof_label *label, struct span text)
{
	const struct {
		const char *key;
		struct span *text;
		uint64_t *number;
	} parts[] = {
		{ "comm", &context->comm, NULL },
		{ "cgroup", &context->cgroup, NULL },
		{ "container", &context->container, NULL },
		{ "thread", &context->thread, NULL },
		{ "thread_comm", &context->thread, NULL },
		{ "core_type", &context->core_type, NULL },
		{ "pid", NULL, &context->pid },
		{ "tid", NULL, &context->tid },
		{ "cpu", NULL, &context->cpu },
	};
	for (size_t i = 0; i < COUNT_OF(parts); i++) {
		if (!span_equal(key, span_of_text(parts[i].key)))
			continue;
		if (parts[i].text && label->text && text.size && !parts[i].text->size)
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

static int compare_lines(const void *a, const void *b, void *context)
{
	const struct pprof_label_line *left = a;
	const struct pprof_label_line *right = b;
	const uint8_t *text = context;
	return span_compare((struct span){ text + left->start, left->size },
			    (struct span){ text + right->start, right->size });
}

static int join(struct pprof_labels *labels)
{
	buffer_empty(&labels->joined);
	if (labels->count)
		qsort_r(labels->list, labels->count, sizeof(*labels->list), compare_lines,
			labels->lines.data);
	for (size_t i = 0; i < labels->count; i++) {
		if (i)
			buffer_append_u8(&labels->joined, '\n');
		buffer_append(&labels->joined, labels->lines.data + labels->list[i].start,
			      labels->list[i].size);
	}
	return buffer_failed(&labels->joined) ? -ENOMEM : 0;
}

int pprof_labels_context(struct pprof_labels *labels, struct pprof_places *places,
			 struct span sample, size_t count, uint32_t *id)
{
	struct profile_context context = { 0 };
	struct cursor cursor = cursor_of(sample.data, sample.size);
	struct pprof_label label;
	labels->lines.size = labels->count = 0;
	*id = 0;
	while (count && pprof_next_label(&cursor, &label)) {
		struct span key, text, unit;
		bool known = pprof_text(places, label.key, &key);
		known &= pprof_text(places, label.text, &text);
		known &= pprof_text(places, label.unit, &unit);
		if (!known && pprof_dangling(places) < 0)
			return -EBADMSG;
		if (!is_part(&context, key, &label, text) &&
		    add_line(labels, key, &label, text, unit) < 0)
			return -ENOMEM;
	}
	if (cursor.failed)
		return -EBADMSG;
	if (count == 0)
		return 0;
	if (join(labels) < 0)
		return -ENOMEM;
	if (labels->count)
		context.labels = (struct span){ labels->joined.data, labels->joined.size };
	return profile_add_context(labels->profile, &context, id);
}
