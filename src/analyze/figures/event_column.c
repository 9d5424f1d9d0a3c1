#include "analyze/figures/event_column.h"

#include <errno.h>
#include <fnmatch.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/hash_index.h"
#include "profile/runs.h"

#define SCOPE_BITS (EXCLUDE_USER | EXCLUDE_KERNEL)

double event_scale_divisor(uint64_t scale)
{
	return pow(10, fmin((double)scale, PROFILE_MOST_DECIMALS));
}

double event_column_divisor(const struct event_column *column)
{
	return event_scale_divisor(column->scale);
}

struct span event_base_name(struct span name)
{
	const char *text = name.data;
	size_t end = 0, start = 0;
	const char *slash = name.size ? memchr(text, '/', name.size) : NULL;
	if (slash)
		start = (size_t)(slash - text) + 1;
	for (end = start; end < name.size && text[end] != ':' && text[end] != '/'; end++)
		continue;
	return (struct span){ text + start, end - start };
}

static bool is_one_of(struct span name, const char *const *names)
{
	for (; *names; names++)
		if (name.size == strlen(*names) && strncasecmp(name.data, *names, name.size) == 0)
			return true;
	return false;
}

/* The low half of a hardware event's config; the high one names the PMU of a hybrid machine. */
static bool is_hardware(const struct event_column *column, uint64_t number)
{
	return column->type == PERF_TYPE_HARDWARE && column->pmu.size &&
	       (column->config & 0xffffffff) == number;
}

bool event_column_counts_cycles(const struct event_column *column)
{
	static const char *const names[] = { "cycles",
					     "cpu-cycles",
					     "cpu_cycles",
					     "cpu_clk_unhalted.thread",
					     "cpu_clk_unhalted.core",
					     NULL };
	return column->clock != EVENT_CLOCK && (is_hardware(column, PERF_COUNT_HW_CPU_CYCLES) ||
						is_one_of(event_base_name(column->name), names));
}

bool event_column_counts_instructions(const struct event_column *column)
{
	static const char *const names[] = { "instructions", "inst_retired", "inst_retired.any",
					     NULL };
	return is_hardware(column, PERF_COUNT_HW_INSTRUCTIONS) ||
	       is_one_of(event_base_name(column->name), names);
}

enum ratio_samples event_column_ratio_samples(const struct event_column *a,
					      const struct event_column *b)
{
	bool grouped = (!a->sampled && span_equal(a->leader, b->name)) ||
		       (!b->sampled && span_equal(b->leader, a->name));
	return grouped ? RATIO_GROUPED : RATIO_INDEPENDENT;
}

enum ratio_samples event_column_part_samples(const struct event_column *part,
					     const struct event_column *whole)
{
	bool by_another = !part->sampled && !whole->sampled && part->leader.size &&
			  span_equal(part->leader, whole->leader);
	return by_another && part->scale == whole->scale ? RATIO_PART
							 : event_column_ratio_samples(part, whole);
}

struct estimate event_column_ratio(const struct event_columns *columns, size_t above, size_t below,
				   enum ratio_samples samples, const struct cell *cells)
{
	struct estimate ratio = interval_ratio(&cells[above], &cells[below], samples);
	double factor = event_column_divisor(&columns->list[below]) /
			event_column_divisor(&columns->list[above]);
	ratio.value *= factor;
	ratio.low *= factor;
	ratio.high *= factor;
	return ratio;
}

static int rank(const struct event_column *column)
{
	return event_column_counts_cycles(column) ? 0 : column->clock == EVENT_CLOCK ? 1 : 2;
}

static int compare_identity(const struct event_column *a, const struct event_column *b)
{
	int order = span_compare(a->name, b->name);
	if (!order)
		order = span_compare(a->pmu, b->pmu);
	if (!order)
		order = span_compare(a->core_type, b->core_type);
	if (!order)
		order = span_compare(a->unit, b->unit);
	if (!order)
		order = (a->scale > b->scale) - (a->scale < b->scale);
	if (!order)
		order = (a->clock > b->clock) - (a->clock < b->clock);
	if (!order)
		order = (int)(a->exclude & SCOPE_BITS) - (int)(b->exclude & SCOPE_BITS);
	if (!order)
		order = (a->run > b->run) - (a->run < b->run);
	return order;
}

static int compare_columns(const void *left, const void *right)
{
	const struct event_column *a = left, *b = right;
	int order = rank(a) - rank(b);
	return order ? order : compare_identity(a, b);
}

static struct event_column column_of(const struct profile_event *event)
{
	return (struct event_column){ .name = event->name,
				      .unit = event->unit,
				      .pmu = event->pmu,
				      .core_type = event->core_type,
				      .leader = event->leader,
				      .scale = event->scale,
				      .clock = event->clock,
				      .exclude = event->exclude,
				      .type = event->type,
				      .config = event->config,
				      .period_least = event->period,
				      .period_most = event->period,
				      .policy = event->policy,
				      .precise = event->precise,
				      .skid = event->skid,
				      .origin = event->origin,
				      .sampled = event->sampled != 0,
				      .rows = 1 };
}

static void merge_column(struct event_column *into, const struct event_column *from)
{
	if (from->period_least < into->period_least)
		into->period_least = from->period_least;
	if (from->period_most > into->period_most)
		into->period_most = from->period_most;
	if (!into->leader.size)
		into->leader = from->leader;
	into->sampled |= from->sampled;
	into->counted |= from->counted;
	into->rows += from->rows;
}

static bool is_named(const struct event_column *column, const char *pattern)
{
	return span_equal(column->name, span_of_text(pattern));
}

static bool matches(const struct event_column *column, const char *pattern)
{
	char name[256];
	struct span whole = column->name;
	if (whole.size >= sizeof(name))
		return false;
	memcpy(name, whole.data ? whole.data : "", whole.size);
	name[whole.size] = 0;
	if (fnmatch(pattern, name, 0) == 0)
		return true;
	struct span base = event_base_name(whole);
	return span_equal(base, span_of_text(pattern)) && !strpbrk(pattern, ":/");
}

typedef bool (*column_test)(const struct event_column *column, const char *pattern);

/* Where a column has exactly that name, no other is meant: "cycles" beside "cycles:u" is one
 * event, not both. */
static column_test test_for(const struct event_columns *columns, const char *pattern)
{
	for (size_t i = 0; i < columns->count; i++)
		if (is_named(&columns->list[i], pattern))
			return is_named;
	return matches;
}

enum event_use { EVENT_UNUSED, EVENT_SAMPLED, EVENT_COUNTED_SOMETHING };

/* By event id, an enum event_use; [0] is unused. NULL: out of memory. */
static uint8_t *events_in_use(const struct profile *profile)
{
	const struct table *events = profile_table(profile, PROFILE_EVENT);
	uint8_t *used = calloc(events->count + 1, sizeof(*used));
	if (!used)
		return NULL;
	static const enum profile_table tables[] = { PROFILE_FLAT, PROFILE_STACK };
	static const size_t slots[] = { FLAT_EVENT, STACK_EVENT };
	for (size_t t = 0; t < 2; t++) {
		const struct table *table = profile_table(profile, tables[t]);
		for (size_t row = 0; row < table->count; row++)
			used[table_keys(table, row)[slots[t]]] = EVENT_COUNTED_SOMETHING;
	}
	/* an event that was sampled and never overflowed is a column of zeros, not a missing one */
	for (size_t row = 0; row < events->count; row++)
		if (profile_event(profile, row + 1).policy != PERIOD_NONE && !used[row + 1])
			used[row + 1] = EVENT_SAMPLED;
	used[0] = EVENT_UNUSED;
	return used;
}

static int refuse_pattern(const struct event_columns *columns, const char *pattern,
			  struct error *err)
{
	CLEANUP(buffer_release) struct buffer names = { 0 };
	for (size_t i = 0; i < columns->count; i++)
		buffer_printf(&names, "%s%.*s", i ? ", " : "", (int)columns->list[i].name.size,
			      (const char *)columns->list[i].name.data);
	return error_set(err, -ENOENT, "no event '%s' in the profile, which has %s", pattern,
			 columns->count ? buffer_text(&names) : "none");
}

int event_columns_find(const struct event_columns *columns, const char *pattern, size_t *column,
		       struct error *err)
{
	column_test is_meant = test_for(columns, pattern);
	for (size_t i = 0; i < columns->count; i++)
		if (is_meant(&columns->list[i], pattern)) {
			*column = i;
			return 0;
		}
	return refuse_pattern(columns, pattern, err);
}

/* Drops the columns that no pattern matches. */
static int choose(struct event_columns *columns, const char *const *patterns, size_t count,
		  struct error *err)
{
	if (count == 0)
		return 0;
	CLEANUP(free_pointer) bool *keep = calloc(columns->count + 1, sizeof(*keep));
	if (!keep)
		return error_set(err, -ENOMEM, "out of memory choosing events");
	for (size_t p = 0; p < count; p++) {
		bool found = false;
		column_test is_meant = test_for(columns, patterns[p]);
		for (size_t i = 0; i < columns->count; i++)
			if (is_meant(&columns->list[i], patterns[p]))
				keep[i] = found = true;
		if (!found)
			return refuse_pattern(columns, patterns[p], err);
	}
	size_t kept = 0;
	for (size_t i = 0; i < columns->count; i++)
		if (keep[i])
			columns->list[kept++] = columns->list[i];
	columns->count = kept;
	return 0;
}

/* Columns are of one profile, where a text is kept once: its address stands for it. */
static uint64_t text_hash(struct span text)
{
	return hash_u64(text.size ? (uintptr_t)text.data : 0);
}

uint64_t event_column_scope_hash(const struct event_column *column)
{
	return hash_u64(text_hash(column->pmu) +
			hash_u64(text_hash(column->core_type) + (column->exclude & SCOPE_BITS) +
				 hash_u64(column->run)));
}

bool event_column_same_scope(const struct event_column *a, const struct event_column *b)
{
	return span_equal(a->pmu, b->pmu) && span_equal(a->core_type, b->core_type) &&
	       (a->exclude & SCOPE_BITS) == (b->exclude & SCOPE_BITS) && a->run == b->run;
}

static bool same_scope(const void *rows, uint32_t position, const void *wanted)
{
	return event_column_same_scope((const struct event_column *)rows + position, wanted);
}

/* The first column of instructions of each PMU, core type and scope. */
static int index_instructions(const struct event_columns *columns, struct hash_index *index)
{
	for (size_t i = 0; i < columns->count; i++) {
		const struct event_column *column = &columns->list[i];
		uint64_t hash = event_column_scope_hash(column);
		if (event_column_counts_instructions(column) &&
		    hash_index_find(index, hash, same_scope, columns->list, column) ==
			    HASH_INDEX_NONE &&
		    hash_index_add(index, hash, (uint32_t)i) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int find_pairs(struct event_columns *columns, struct error *err)
{
	columns->pairs = calloc(columns->count + 1, sizeof(*columns->pairs));
	if (!columns->pairs)
		return error_set(err, -ENOMEM, "out of memory pairing events");
	CLEANUP(hash_index_release) struct hash_index index = { 0 };
	if (index_instructions(columns, &index) < 0)
		return error_set(err, -ENOMEM, "out of memory pairing events");
	for (size_t c = 0; c < columns->count; c++) {
		const struct event_column *cycles = &columns->list[c];
		if (!event_column_counts_cycles(cycles))
			continue;
		uint32_t i = hash_index_find(&index, event_column_scope_hash(cycles), same_scope,
					     columns->list, cycles);
		if (i == HASH_INDEX_NONE)
			continue;
		columns->pairs[columns->pair_count++] = (struct event_pair){
			c, i, event_column_ratio_samples(cycles, &columns->list[i])
		};
	}
	return 0;
}

/* The event as a column of its run, when runs are apart. */
static struct event_column column_of_run(const struct profile *profile, uint64_t event,
					 uint64_t runs)
{
	struct profile_event row = profile_event(profile, event);
	struct event_column column = column_of(&row);
	column.run = runs == EVENT_RUNS_APART ? profile_event_run(profile, event) : 0;
	return column;
}

/* Forgets the events of all runs but one. */
static void choose_run(const struct profile *profile, uint64_t run, size_t count, uint8_t *used)
{
	for (size_t id = 1; id <= count; id++)
		if (profile_event_run(profile, id) != run)
			used[id] = EVENT_UNUSED;
}

static int fill(struct event_columns *columns, const struct profile *profile,
		const char *const *patterns, size_t pattern_count, uint64_t runs, struct error *err)
{
	const struct table *events = profile_table(profile, PROFILE_EVENT);
	columns->event_count = events->count;
	columns->list = calloc(events->count + 1, sizeof(*columns->list));
	columns->of_event = calloc(events->count + 1, sizeof(*columns->of_event));
	CLEANUP(free_pointer) uint8_t *used = events_in_use(profile);
	if (!columns->list || !columns->of_event || !used)
		return error_set(err, -ENOMEM, "out of memory reading events");
	if (runs != EVENT_RUNS_TOGETHER && runs != EVENT_RUNS_APART)
		choose_run(profile, runs, events->count, used);
	for (size_t id = 1; id <= events->count; id++) {
		if (!used[id])
			continue;
		struct event_column column = column_of_run(profile, id, runs);
		column.counted = used[id] == EVENT_COUNTED_SOMETHING;
		columns->list[columns->count++] = column;
	}
	qsort(columns->list, columns->count, sizeof(*columns->list), compare_columns);
	size_t kept = 0;
	for (size_t i = 0; i < columns->count; i++) {
		if (kept && compare_identity(&columns->list[kept - 1], &columns->list[i]) == 0)
			merge_column(&columns->list[kept - 1], &columns->list[i]);
		else
			columns->list[kept++] = columns->list[i];
	}
	columns->count = kept;
	int ret = choose(columns, patterns, pattern_count, err);
	if (ret < 0)
		return ret;
	for (size_t id = 0; id <= events->count; id++) {
		columns->of_event[id] = EVENT_COLUMN_NONE;
		if (id == 0 || !used[id])
			continue;
		struct event_column wanted = column_of_run(profile, id, runs);
		const struct event_column *column =
			bsearch(&wanted, columns->list, columns->count, sizeof(*columns->list),
				compare_columns);
		if (column)
			columns->of_event[id] = (uint32_t)(column - columns->list);
	}
	return find_pairs(columns, err);
}

int event_columns_init_runs(struct event_columns *columns, const struct profile *profile,
			    const char *const *patterns, size_t pattern_count, uint64_t runs,
			    struct error *err)
{
	*columns = (struct event_columns){ 0 };
	int ret = fill(columns, profile, patterns, pattern_count, runs, err);
	if (ret < 0)
		event_columns_release(columns);
	return ret;
}

int event_columns_init(struct event_columns *columns, const struct profile *profile,
		       const char *const *patterns, size_t pattern_count, struct error *err)
{
	return event_columns_init_runs(columns, profile, patterns, pattern_count,
				       EVENT_RUNS_TOGETHER, err);
}

size_t event_columns_main(const struct event_columns *columns)
{
	for (size_t i = 0; i < columns->count; i++)
		if (columns->list[i].counted)
			return i;
	return 0;
}

void event_columns_release(struct event_columns *columns)
{
	free(columns->list);
	free(columns->of_event);
	free(columns->pairs);
	*columns = (struct event_columns){ 0 };
}
