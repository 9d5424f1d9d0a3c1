#include "profile/profile.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/count_of.h"

#define KEY(name, type)                                                                            \
	{                                                                                          \
		name, type, RULE_KEY                                                               \
	}
#define CELL_COLUMNS                                                                               \
	{ "samples", COLUMN_U64, RULE_SUM }, { "estimate", COLUMN_U64, RULE_SUM },                 \
	{                                                                                          \
		"squares", COLUMN_U128, RULE_SUM                                                   \
	}

/* The order of each list is the order of the slots in profile.h, and of sorting in a file. */
static const struct column event_columns[] = {
	KEY("name", COLUMN_BYTES),  KEY("unit", COLUMN_BYTES),	    KEY("scale", COLUMN_U64),
	KEY("pmu", COLUMN_BYTES),   KEY("core_type", COLUMN_BYTES), KEY("type", COLUMN_U64),
	KEY("config", COLUMN_U64),  KEY("config1", COLUMN_U64),	    KEY("config2", COLUMN_U64),
	KEY("clock", COLUMN_U64),   KEY("policy", COLUMN_U64),	    KEY("period", COLUMN_U64),
	KEY("precise", COLUMN_U64), KEY("exclude", COLUMN_U64),	    KEY("skid", COLUMN_U64),
	KEY("origin", COLUMN_U64),  KEY("sampled", COLUMN_U64),	    KEY("leader", COLUMN_BYTES),
};
static const struct column image_columns[] = {
	KEY("kind", COLUMN_U64),   KEY("space", COLUMN_U64),  KEY("build_id", COLUMN_BYTES),
	KEY("hash", COLUMN_BYTES), KEY("name", COLUMN_BYTES), KEY("writer", COLUMN_U64),
};
static const struct column context_columns[] = {
	KEY("comm", COLUMN_BYTES),	  KEY("cgroup", COLUMN_BYTES),
	KEY("container", COLUMN_BYTES),	  KEY("pid", COLUMN_OPTIONAL),
	KEY("start_ns", COLUMN_OPTIONAL), KEY("tid", COLUMN_OPTIONAL),
	KEY("thread", COLUMN_BYTES),	  KEY("cpu", COLUMN_OPTIONAL),
	KEY("core_type", COLUMN_BYTES),	  KEY("labels", COLUMN_BYTES),
};
static const struct column node_columns[] = {
	KEY("parent", COLUMN_NODE), KEY("kind", COLUMN_U64),   KEY("image", COLUMN_IMAGE),
	KEY("vaddr", COLUMN_U64),   KEY("name", COLUMN_BYTES),
};
static const struct column source_columns[] = {
	KEY("host", COLUMN_BYTES),
	KEY("boot_id", COLUMN_BYTES),
	KEY("kernel", COLUMN_BYTES),
	KEY("machine", COLUMN_BYTES),
	KEY("cpu_vendor", COLUMN_BYTES),
	KEY("cpu_model", COLUMN_BYTES),
	KEY("cpu_name", COLUMN_BYTES),
	KEY("microcode", COLUMN_BYTES),
	KEY("smt", COLUMN_BYTES),
	KEY("governor", COLUMN_BYTES),
	KEY("turbo", COLUMN_BYTES),
	KEY("frequency", COLUMN_BYTES),
	KEY("hypervisor", COLUMN_BYTES),
	KEY("clock", COLUMN_BYTES),
	KEY("command", COLUMN_BYTES),
	KEY("tool", COLUMN_BYTES),
	KEY("labels", COLUMN_BYTES),
	KEY("cpus", COLUMN_U64),
	KEY("start_ns", COLUMN_U64),
	KEY("epoch", COLUMN_U64),
	{ "duration_ns", COLUMN_U64, RULE_MAX },
};
static const struct column path_columns[] = {
	KEY("image", COLUMN_IMAGE),
	KEY("path", COLUMN_BYTES),
	{ "seen", COLUMN_U64, RULE_MAX },
};
static const struct column flat_columns[] = {
	KEY("event", COLUMN_EVENT), KEY("image", COLUMN_IMAGE),	    KEY("vaddr", COLUMN_U64),
	KEY("name", COLUMN_BYTES),  KEY("context", COLUMN_CONTEXT), CELL_COLUMNS,
};
static const struct column stack_columns[] = {
	KEY("event", COLUMN_EVENT),
	KEY("node", COLUMN_NODE),
	KEY("context", COLUMN_CONTEXT),
	CELL_COLUMNS,
};
static const struct column edge_columns[] = {
	KEY("event", COLUMN_EVENT),
	KEY("context", COLUMN_CONTEXT),
	KEY("origin", COLUMN_U64),
	KEY("from_image", COLUMN_IMAGE),
	KEY("from_vaddr", COLUMN_U64),
	KEY("from_name", COLUMN_BYTES),
	KEY("to_image", COLUMN_IMAGE),
	KEY("to_vaddr", COLUMN_U64),
	KEY("to_name", COLUMN_BYTES),
	{ "count", COLUMN_U64, RULE_SUM },
	{ "mispredicted", COLUMN_U64, RULE_SUM },
};
static const struct column range_columns[] = {
	KEY("event", COLUMN_EVENT),
	KEY("context", COLUMN_CONTEXT),
	KEY("origin", COLUMN_U64),
	KEY("image", COLUMN_IMAGE),
	KEY("first", COLUMN_U64),
	KEY("last", COLUMN_U64),
	{ "count", COLUMN_U64, RULE_SUM },
	{ "cycles", COLUMN_U64, RULE_SUM },
	{ "squares", COLUMN_U128, RULE_SUM },
};
static const struct column value_columns[] = {
	KEY("event", COLUMN_EVENT),
	KEY("context", COLUMN_CONTEXT),
	KEY("image", COLUMN_IMAGE),
	KEY("vaddr", COLUMN_U64),
	KEY("kind", COLUMN_U64),
	KEY("bucket", COLUMN_U64),
	CELL_COLUMNS,
};
static const struct column counter_columns[] = {
	KEY("event", COLUMN_EVENT),
	KEY("context", COLUMN_CONTEXT),
	CELL_COLUMNS,
};
static const struct column strip_columns[] = {
	KEY("second", COLUMN_U64),
	KEY("event", COLUMN_EVENT),
	KEY("context", COLUMN_CONTEXT),
	{ "samples", COLUMN_U64, RULE_SUM },
};
static const struct column bill_columns[] = {
	KEY("event", COLUMN_EVENT),
	KEY("cpu", COLUMN_OPTIONAL),
	KEY("item", COLUMN_BYTES),
	{ "amount", COLUMN_U64, RULE_SUM },
};
static const struct column stash_columns[] = {
	KEY("image", COLUMN_IMAGE), KEY("kind", COLUMN_U64),	  KEY("first", COLUMN_U64),
	KEY("last", COLUMN_U64),    KEY("content", COLUMN_BYTES),
};

#define DECLARE(name, columns)                                                                     \
	{                                                                                          \
		name, columns, sizeof(columns) / sizeof((columns)[0])                              \
	}

static const struct {
	const char *name;
	const struct column *columns;
	size_t count;
} declarations[PROFILE_KNOWN_TABLES] = {
	[PROFILE_EVENT] = DECLARE("event", event_columns),
	[PROFILE_IMAGE] = DECLARE("image", image_columns),
	[PROFILE_CONTEXT] = DECLARE("context", context_columns),
	[PROFILE_NODE] = DECLARE("node", node_columns),
	[PROFILE_SOURCE] = DECLARE("source", source_columns),
	[PROFILE_PATH] = DECLARE("path", path_columns),
	[PROFILE_FLAT] = DECLARE("flat", flat_columns),
	[PROFILE_STACK] = DECLARE("stack", stack_columns),
	[PROFILE_EDGE] = DECLARE("edge", edge_columns),
	[PROFILE_RANGE] = DECLARE("range", range_columns),
	[PROFILE_VALUE] = DECLARE("value", value_columns),
	[PROFILE_COUNTER] = DECLARE("counter", counter_columns),
	[PROFILE_STRIP] = DECLARE("strip", strip_columns),
	[PROFILE_BILL] = DECLARE("bill", bill_columns),
	[PROFILE_STASH] = DECLARE("stash", stash_columns),
};

const struct column *profile_columns(enum profile_table table, size_t *count)
{
	*count = declarations[table].count;
	return declarations[table].columns;
}

const char *profile_table_name(enum profile_table table)
{
	return declarations[table].name;
}

void profile_free(struct profile *profile)
{
	if (!profile)
		return;
	for (size_t i = 0; i < profile->table_count; i++)
		table_free(profile->tables[i]);
	free(profile->tables);
	byte_pool_release(&profile->bytes);
	free(profile);
}

void profile_freep(struct profile **profile)
{
	profile_free(*profile);
}

struct profile *profile_new(void)
{
	CLEANUP(profile_freep) struct profile *profile = calloc(1, sizeof(*profile));
	if (!profile)
		return NULL;
	profile->tables = calloc(PROFILE_KNOWN_TABLES, sizeof(struct table *));
	if (!profile->tables)
		return NULL;
	for (size_t i = 0; i < PROFILE_KNOWN_TABLES; i++) {
		profile->tables[i] = table_new(declarations[i].name, declarations[i].columns,
					       declarations[i].count);
		if (!profile->tables[i])
			return NULL;
		profile->table_count++;
	}
	struct profile *made = profile;
	profile = NULL; /* the caller's from here on */
	return made;
}

struct table *profile_find_table(const struct profile *profile, const char *name)
{
	for (size_t i = 0; i < profile->table_count; i++)
		if (strcmp(profile->tables[i]->name, name) == 0)
			return profile->tables[i];
	return NULL;
}

struct table *profile_add_table(struct profile *profile, const char *name,
				const struct column *columns, size_t column_count)
{
	struct table *table = profile_find_table(profile, name);
	if (table)
		return table;
	struct table **grown =
		reallocarray(profile->tables, profile->table_count + 1, sizeof(*grown));
	if (!grown)
		return NULL;
	profile->tables = grown;
	table = table_new(name, columns, column_count);
	if (table)
		profile->tables[profile->table_count++] = table;
	return table;
}

int profile_add_bytes(struct profile *profile, struct span bytes, uint32_t *id)
{
	if (!bytes.data) {
		*id = 0;
		return 0;
	}
	return byte_pool_add(&profile->bytes, bytes, id);
}

int profile_add_text(struct profile *profile, const char *text, uint32_t *id)
{
	return profile_add_bytes(profile, span_of_text(text), id);
}

/*
 * A table may have more columns than this version knows; those get 0. So rows
 * are built at full width. `count` is the number of known key columns.
 */
static int add_row(struct profile *profile, enum profile_table which, const uint64_t *keys,
		   size_t count, const uint64_t *values, size_t value_count, uint32_t *row)
{
	struct table *table = profile->tables[which];
	uint64_t key_row[TABLE_MAX_COLUMNS] = { 0 };
	uint64_t value_row[TABLE_MAX_COLUMNS * 2] = { 0 };
	assert(count <= table->key_slots && value_count <= table->value_slots);
	memcpy(key_row, keys, count * sizeof(*keys));
	if (value_count)
		memcpy(value_row, values, value_count * sizeof(*values));
	return table_add(table, key_row, value_row, row);
}

/* Fills slot `slots[i]` of a row with the number of texts[i]. */
static int add_texts(struct profile *profile, const struct span *texts, const size_t *slots,
		     size_t count, uint64_t *row)
{
	for (size_t i = 0; i < count; i++) {
		uint32_t id;
		int ret = profile_add_bytes(profile, texts[i], &id);
		if (ret < 0)
			return ret;
		row[slots[i]] = id;
	}
	return 0;
}

/* A dictionary's row, which has its texts. */
static int add_named_row(struct profile *profile, enum profile_table which, const uint64_t *row,
			 size_t count, uint32_t *id)
{
	uint32_t position;
	int ret = add_row(profile, which, row, count, NULL, 0, &position);
	if (ret == 0)
		*id = position + 1;
	return ret;
}

#define EVENT_KEYS  18
#define EVENT_TEXTS 5

static const size_t event_slots[EVENT_TEXTS] = { 0, 1, 3, 4, 17 };

/* All but the texts. */
static void event_row(const struct profile_event *event, uint64_t row[EVENT_KEYS])
{
	const uint64_t numbers[EVENT_KEYS] = {
		[2] = event->scale,    [5] = event->type,    [6] = event->config,
		[7] = event->config1,  [8] = event->config2, [9] = event->clock,
		[10] = event->policy,  [11] = event->period, [12] = event->precise,
		[13] = event->exclude, [14] = event->skid,   [15] = event->origin,
		[16] = event->sampled,
	};
	memcpy(row, numbers, sizeof(numbers));
}

int profile_add_event(struct profile *profile, const struct profile_event *event, uint32_t *id)
{
	const struct span texts[] = { event->name, event->unit, event->pmu, event->core_type,
				      event->leader };
	uint64_t row[EVENT_KEYS];
	event_row(event, row);
	int ret = add_texts(profile, texts, event_slots, EVENT_TEXTS, row);
	return ret < 0 ? ret : add_named_row(profile, PROFILE_EVENT, row, EVENT_KEYS, id);
}

int profile_add_event_of(struct profile *profile, const struct profile_event *event,
			 const struct profile_event_texts *texts, uint32_t *id)
{
	const uint32_t numbers[EVENT_TEXTS] = { texts->name, texts->unit, texts->pmu,
						texts->core_type, texts->leader };
	uint64_t row[EVENT_KEYS];
	event_row(event, row);
	for (size_t i = 0; i < EVENT_TEXTS; i++)
		row[event_slots[i]] = numbers[i];
	return add_named_row(profile, PROFILE_EVENT, row, EVENT_KEYS, id);
}

struct profile_event profile_event(const struct profile *profile, uint64_t id)
{
	const uint64_t *row = table_keys(profile->tables[PROFILE_EVENT], id - 1);
	return (struct profile_event){
		.name = profile_bytes(profile, row[0]),
		.unit = profile_bytes(profile, row[1]),
		.scale = row[EVENT_SCALE],
		.pmu = profile_bytes(profile, row[3]),
		.core_type = profile_bytes(profile, row[4]),
		.type = row[5],
		.config = row[6],
		.config1 = row[7],
		.config2 = row[8],
		.clock = row[9],
		.policy = row[10],
		.period = row[11],
		.precise = row[12],
		.exclude = row[13],
		.skid = row[14],
		.origin = row[15],
		.sampled = row[16],
		.leader = profile_bytes(profile, row[17]),
	};
}

int profile_add_image(struct profile *profile, const struct profile_image *image, uint32_t *id)
{
	uint64_t row[] = { image->kind, image->space, 0, 0, 0, image->writer };
	const struct span texts[] = { image->build_id, image->hash, image->name };
	static const size_t slots[] = { 2, 3, 4 };
	int ret = add_texts(profile, texts, slots, COUNT_OF(slots), row);
	return ret < 0 ? ret : add_named_row(profile, PROFILE_IMAGE, row, COUNT_OF(row), id);
}

int profile_add_image_of(struct profile *profile, const struct profile_image *image,
			 const struct profile_image_texts *texts, uint32_t *id)
{
	const uint64_t row[] = { image->kind, image->space, texts->build_id,
				 texts->hash, texts->name,  image->writer };
	return add_named_row(profile, PROFILE_IMAGE, row, COUNT_OF(row), id);
}

struct profile_image profile_image(const struct profile *profile, uint64_t id)
{
	const uint64_t *row = table_keys(profile->tables[PROFILE_IMAGE], id - 1);
	return (struct profile_image){ row[0],
				       row[1],
				       profile_bytes(profile, row[2]),
				       profile_bytes(profile, row[3]),
				       profile_bytes(profile, row[4]),
				       row[5] };
}

bool profile_image_equal(const struct profile_image *a, const struct profile_image *b)
{
	return a->kind == b->kind && a->space == b->space && span_equal(a->build_id, b->build_id) &&
	       span_equal(a->hash, b->hash) && span_equal(a->name, b->name) &&
	       a->writer == b->writer;
}

int profile_add_path(struct profile *profile, uint32_t image, struct span path)
{
	return profile_add_seen_path(profile, image, path, PATH_TOLD);
}

static int add_path(struct profile *profile, uint32_t image, uint32_t path, enum path_seen seen)
{
	const uint64_t row[] = { image, path };
	const uint64_t value = seen;
	return add_row(profile, PROFILE_PATH, row, COUNT_OF(row), &value, 1, NULL);
}

int profile_add_path_of(struct profile *profile, uint32_t image, uint32_t path)
{
	return add_path(profile, image, path, PATH_TOLD);
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

#define CONTEXT_KEYS  10
#define CONTEXT_TEXTS 6

static const size_t context_slots[CONTEXT_TEXTS] = { 0, 1, 2, 6, 8, 9 };

/* All but the texts, which go to the context's slots. */
static void context_row(const struct profile_context *context, uint64_t row[CONTEXT_KEYS],
			struct span texts[CONTEXT_TEXTS])
{
	const uint64_t numbers[CONTEXT_KEYS] = {
		[3] = context->pid, [4] = context->start_ns, [5] = context->tid, [7] = context->cpu
	};
	const struct span spans[CONTEXT_TEXTS] = { context->comm,      context->cgroup,
						   context->container, context->thread,
						   context->core_type, context->labels };
	memcpy(row, numbers, sizeof(numbers));
	memcpy(texts, spans, sizeof(spans));
}

bool profile_has_context(const struct profile *profile, const struct profile_context *context)
{
	uint64_t row[TABLE_MAX_COLUMNS] = { 0 };
	struct span texts[CONTEXT_TEXTS];
	context_row(context, row, texts);
	for (size_t i = 0; i < CONTEXT_TEXTS; i++) {
		uint32_t id = 0;
		if (texts[i].data && !byte_pool_find(&profile->bytes, texts[i], &id))
			return false;
		row[context_slots[i]] = id;
	}
	return table_has(profile->tables[PROFILE_CONTEXT], row);
}

int profile_add_context(struct profile *profile, const struct profile_context *context,
			uint32_t *id)
{
	uint64_t row[CONTEXT_KEYS];
	struct span texts[CONTEXT_TEXTS];
	context_row(context, row, texts);
	int ret = add_texts(profile, texts, context_slots, CONTEXT_TEXTS, row);
	return ret < 0 ? ret : add_named_row(profile, PROFILE_CONTEXT, row, CONTEXT_KEYS, id);
}

int profile_add_context_of(struct profile *profile, const struct profile_context *context,
			   const struct profile_context_texts *texts, uint32_t *id)
{
	const uint32_t numbers[CONTEXT_TEXTS] = { texts->comm,	 texts->cgroup,	   texts->container,
						  texts->thread, texts->core_type, texts->labels };
	uint64_t row[CONTEXT_KEYS];
	struct span unused[CONTEXT_TEXTS];
	context_row(context, row, unused);
	for (size_t i = 0; i < CONTEXT_TEXTS; i++)
		row[context_slots[i]] = numbers[i];
	return add_named_row(profile, PROFILE_CONTEXT, row, CONTEXT_KEYS, id);
}

struct profile_context profile_context(const struct profile *profile, uint64_t id)
{
	const uint64_t *row = table_keys(profile->tables[PROFILE_CONTEXT], id - 1);
	return (struct profile_context){
		.comm = profile_bytes(profile, row[0]),
		.cgroup = profile_bytes(profile, row[1]),
		.container = profile_bytes(profile, row[2]),
		.pid = row[3],
		.start_ns = row[4],
		.tid = row[5],
		.thread = profile_bytes(profile, row[6]),
		.cpu = row[7],
		.core_type = profile_bytes(profile, row[8]),
		.labels = profile_bytes(profile, row[9]),
	};
}

bool profile_has_node(const struct profile *profile, uint32_t parent,
		      const struct profile_frame *frame)
{
	const uint64_t row[TABLE_MAX_COLUMNS] = { [NODE_PARENT] = parent,
						  [NODE_KIND] = frame->kind,
						  [NODE_IMAGE] = frame->image,
						  [NODE_VADDR] = frame->vaddr,
						  [NODE_NAME] = frame->name };
	return table_has(profile->tables[PROFILE_NODE], row);
}

int profile_add_node(struct profile *profile, uint32_t parent, const struct profile_frame *frame,
		     uint32_t *id)
{
	const uint64_t row[] = { [NODE_PARENT] = parent,
				 [NODE_KIND] = frame->kind,
				 [NODE_IMAGE] = frame->image,
				 [NODE_VADDR] = frame->vaddr,
				 [NODE_NAME] = frame->name };
	uint32_t position;
	int ret = add_row(profile, PROFILE_NODE, row, COUNT_OF(row), NULL, 0, &position);
	if (ret == 0)
		*id = position + 1;
	return ret;
}

struct profile_frame profile_node(const struct profile *profile, uint64_t id, uint32_t *parent)
{
	const uint64_t *row = table_keys(profile->tables[PROFILE_NODE], id - 1);
	if (parent)
		*parent = (uint32_t)row[NODE_PARENT];
	return (struct profile_frame){ row[NODE_KIND], (uint32_t)row[NODE_IMAGE], row[NODE_VADDR],
				       (uint32_t)row[NODE_NAME] };
}

static int add_cell(struct profile *profile, enum profile_table table, const uint64_t *row,
		    size_t count, const struct cell *cell)
{
	const uint64_t values[] = { [CELL_SAMPLES] = cell->samples,
				    [CELL_ESTIMATE] = cell->estimate,
				    [CELL_SQUARES_LOW] = (uint64_t)cell->squares,
				    [CELL_SQUARES_HIGH] = (uint64_t)(cell->squares >> 64) };
	return add_row(profile, table, row, count, values, COUNT_OF(values), NULL);
}

int profile_add_flat(struct profile *profile, uint32_t event, uint32_t context,
		     const struct profile_frame *leaf, const struct cell *cell)
{
	const uint64_t row[] = { [FLAT_EVENT] = event,
				 [FLAT_IMAGE] = leaf->image,
				 [FLAT_VADDR] = leaf->vaddr,
				 [FLAT_NAME] = leaf->name,
				 [FLAT_CONTEXT] = context };
	return add_cell(profile, PROFILE_FLAT, row, COUNT_OF(row), cell);
}

int profile_add_stack(struct profile *profile, uint32_t event, uint32_t context, uint32_t node,
		      const struct cell *cell)
{
	const uint64_t row[] = {
		[STACK_EVENT] = event, [STACK_NODE] = node, [STACK_CONTEXT] = context
	};
	return add_cell(profile, PROFILE_STACK, row, COUNT_OF(row), cell);
}

int profile_add_edge(struct profile *profile, uint32_t event, uint32_t context, uint64_t origin,
		     const struct profile_frame *from, const struct profile_frame *to,
		     uint64_t count, uint64_t mispredicted)
{
	const uint64_t row[] = {
		[EDGE_EVENT] = event,
		[EDGE_CONTEXT] = context,
		[EDGE_ORIGIN] = origin,
		[EDGE_FROM_IMAGE] = from->image,
		[EDGE_FROM_VADDR] = from->vaddr,
		[EDGE_FROM_NAME] = from->name,
		[EDGE_TO_IMAGE] = to->image,
		[EDGE_TO_VADDR] = to->vaddr,
		[EDGE_TO_NAME] = to->name,
	};
	const uint64_t values[] = { count, mispredicted };
	return add_row(profile, PROFILE_EDGE, row, COUNT_OF(row), values, COUNT_OF(values), NULL);
}

int profile_add_range(struct profile *profile, uint32_t event, uint32_t context, uint64_t origin,
		      uint32_t image, uint64_t first, uint64_t last, uint64_t count)
{
	const uint64_t row[] = {
		[RANGE_EVENT] = event, [RANGE_CONTEXT] = context, [RANGE_ORIGIN] = origin,
		[RANGE_IMAGE] = image, [RANGE_FIRST] = first,	  [RANGE_LAST] = last,
	};
	return add_row(profile, PROFILE_RANGE, row, COUNT_OF(row), &count, 1, NULL);
}

int profile_add_counter(struct profile *profile, uint32_t event, uint32_t context,
			const struct cell *cell)
{
	const uint64_t row[] = { [COUNTER_EVENT] = event, [COUNTER_CONTEXT] = context };
	return add_cell(profile, PROFILE_COUNTER, row, COUNT_OF(row), cell);
}

int profile_add_value(struct profile *profile, uint32_t event, uint32_t context, uint32_t image,
		      uint64_t vaddr, uint64_t kind, uint64_t bucket, const struct cell *cell)
{
	const uint64_t row[] = {
		[VALUE_EVENT] = event, [VALUE_CONTEXT] = context, [VALUE_IMAGE] = image,
		[VALUE_VADDR] = vaddr, [VALUE_KIND] = kind,	  [VALUE_BUCKET] = bucket
	};
	return add_cell(profile, PROFILE_VALUE, row, COUNT_OF(row), cell);
}

int profile_add_strip(struct profile *profile, uint64_t second, uint32_t event, uint32_t context,
		      uint64_t samples)
{
	const uint64_t row[] = {
		[STRIP_SECOND] = second, [STRIP_EVENT] = event, [STRIP_CONTEXT] = context
	};
	return add_row(profile, PROFILE_STRIP, row, COUNT_OF(row), &samples, 1, NULL);
}

int profile_add_bill(struct profile *profile, uint32_t event, uint64_t optional_cpu,
		     const char *item, uint64_t amount)
{
	uint32_t id;
	int ret = profile_add_text(profile, item, &id);
	if (ret < 0)
		return ret;
	const uint64_t row[] = {
		[BILL_EVENT] = event, [BILL_CPU] = optional_cpu, [BILL_ITEM] = id
	};
	return add_row(profile, PROFILE_BILL, row, COUNT_OF(row), &amount, 1, NULL);
}

int profile_add_source(struct profile *profile, const struct profile_source *source)
{
	const struct span texts[] = { source->host,	  source->boot_id,    source->kernel,
				      source->machine,	  source->cpu_vendor, source->cpu_model,
				      source->cpu_name,	  source->microcode,  source->smt,
				      source->governor,	  source->turbo,      source->frequency,
				      source->hypervisor, source->clock,      source->command,
				      source->tool,	  source->labels };
	static const size_t slots[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 };
	uint64_t row[20] = { [17] = source->cpus, [18] = source->start_ns, [19] = source->epoch };
	int ret = add_texts(profile, texts, slots, COUNT_OF(slots), row);
	if (ret < 0)
		return ret;
	return add_row(profile, PROFILE_SOURCE, row, COUNT_OF(row), &source->duration_ns, 1, NULL);
}

struct profile_source profile_source(const struct profile *profile, size_t row)
{
	const struct table *table = profile->tables[PROFILE_SOURCE];
	const uint64_t *keys = table_keys(table, row);
	struct span texts[17];
	for (size_t i = 0; i < COUNT_OF(texts); i++)
		texts[i] = profile_bytes(profile, keys[i]);
	return (struct profile_source){
		.host = texts[0],
		.boot_id = texts[1],
		.kernel = texts[2],
		.machine = texts[3],
		.cpu_vendor = texts[4],
		.cpu_model = texts[5],
		.cpu_name = texts[6],
		.microcode = texts[7],
		.smt = texts[8],
		.governor = texts[9],
		.turbo = texts[10],
		.frequency = texts[11],
		.hypervisor = texts[12],
		.clock = texts[13],
		.command = texts[14],
		.tool = texts[15],
		.labels = texts[16],
		.cpus = keys[17],
		.start_ns = keys[18],
		.epoch = keys[19],
		.duration_ns = table_values(table, row)[0],
	};
}

/*
 * One row's content, written out: column names, lengths and bytes, references
 * as the stable name of what they refer to.
 */
static void spell_row(const struct profile *profile, const struct table *table, size_t row,
		      const struct hash128 *images, const struct hash128 *own, struct buffer *out)
{
	const uint64_t *keys = table_keys(table, row);
	size_t slot = 0;
	for (size_t i = 0; i < table->column_count; i++) {
		const struct column *column = &table->columns[i];
		if (column->rule != RULE_KEY)
			continue;
		uint64_t value = keys[slot++];
		if (value == 0)
			continue; /* absent or 0: so that a column added later does not change old
				     names */
		buffer_append_text(out, column->name);
		buffer_append_u8(out, 0);
		if (column->type == COLUMN_BYTES) {
			struct span bytes = profile_bytes(profile, value);
			buffer_append_u64(out, bytes.size);
			buffer_append(out, bytes.data, bytes.size);
		} else if (column->type == COLUMN_IMAGE) {
			buffer_append(out, &images[value - 1], sizeof(*images));
		} else if (column->type == COLUMN_NODE) {
			buffer_append(out, &own[value - 1],
				      sizeof(*own)); /* a parent comes first */
		} else {
			buffer_append_u64(out, value);
		}
	}
}

int profile_stable_names(const struct profile *profile, enum profile_table which,
			 struct hash128 *names)
{
	assert(which < PROFILE_DICTIONARIES);
	const struct table *table = profile->tables[which];
	const struct table *image_table = profile->tables[PROFILE_IMAGE];
	CLEANUP(free_pointer) struct hash128 *images = NULL;
	if (which == PROFILE_NODE) {
		images = calloc(image_table->count + 1, sizeof(*images));
		if (!images)
			return -ENOMEM;
		int ret = profile_stable_names(profile, PROFILE_IMAGE, images);
		if (ret < 0)
			return ret;
	}
	CLEANUP(buffer_release) struct buffer spelled = { 0 };
	for (size_t row = 0; row < table->count; row++) {
		buffer_empty(&spelled);
		buffer_append_text(&spelled, table->name);
		buffer_append_u8(&spelled, 0);
		spell_row(profile, table, row, images, names, &spelled);
		if (buffer_failed(&spelled))
			return -ENOMEM;
		names[row] = hash128_bytes(spelled.data, spelled.size);
	}
	return 0;
}
