#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/count_of.h"
#include "base/error.h"
#include "base/random.h"
#include "profile/canonical.h"
#include "support/random_profile.h"

#define SEEDS 60

static struct profile *canonical(const struct profile *profile)
{
	struct profile *out = NULL;
	assert_int_equal(profile_canonical(profile, &out), 0);
	return out;
}

/* The canonical merge of profiles in the order given. */
static struct profile *merged(const struct profile *const *parts, size_t count)
{
	CLEANUP(profile_freep) struct profile *sum = profile_new();
	struct error err;
	for (size_t i = 0; i < count; i++)
		assert_int_equal(profile_merge(sum, parts[i], &err), 0);
	return canonical(sum);
}

static void merging_in_any_order_gives_the_same(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		enum random_profile_kind kind = seed % 2 ? RANDOM_WITH_STRANGERS : RANDOM_KNOWN;
		CLEANUP(profile_freep)
		struct profile *a = random_profile_new(seed * 3, RANDOM_KNOWN);
		CLEANUP(profile_freep) struct profile *b = random_profile_new(seed * 3 + 1, kind);
		CLEANUP(profile_freep) struct profile *c = random_profile_new(seed * 3 + 2, kind);
		CLEANUP(profile_freep)
		struct profile *abc = merged((const struct profile *[]){ a, b, c }, 3);
		CLEANUP(profile_freep)
		struct profile *cba = merged((const struct profile *[]){ c, b, a }, 3);
		CLEANUP(profile_freep)
		struct profile *bc = merged((const struct profile *[]){ b, c }, 2);
		CLEANUP(profile_freep)
		struct profile *a_bc = merged((const struct profile *[]){ a, bc }, 2);
		assert_true(profiles_are_identical(abc, cba));
		assert_true(profiles_are_identical(abc, a_bc));
		assert_null(profile_fault(a));
		assert_null(profile_fault(abc));
	}
}

static void the_canonical_form_comes_one_table_at_a_time(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		CLEANUP(profile_freep)
		struct profile *a = random_profile_new(seed, RANDOM_WITH_STRANGERS);
		CLEANUP(profile_freep) struct profile *whole = canonical(a);
		CLEANUP(canonical_release) struct canonical parts;
		assert_int_equal(canonical_begin(&parts, a), 0);
		assert_int_equal(parts.made->bytes.count, whole->bytes.count);
		for (uint32_t id = 1; id <= whole->bytes.count; id++)
			assert_true(span_equal(profile_bytes(parts.made, id),
					       profile_bytes(whole, id)));
		/* Again, as when a file is written anew. */
		for (size_t i = 0; i < 2 * whole->table_count; i++) {
			size_t at = i % whole->table_count;
			const struct table *table = parts.made->tables[at];
			const struct table *wanted = whole->tables[at];
			assert_int_equal(table->count, wanted->count);
			assert_null(table->keys);
			assert_int_equal(canonical_fill(&parts, at), 0);
			assert_string_equal(table->name, wanted->name);
			assert_int_equal(table->count, wanted->count);
			assert_memory_equal(table->keys, wanted->keys,
					    table->count * table->key_slots * sizeof(uint64_t));
			assert_memory_equal(table->values, wanted->values,
					    table->count * table->value_slots * sizeof(uint64_t));
			canonical_drop(&parts, at);
		}
	}
}

static void canonical_form_is_its_own_canonical_form(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		CLEANUP(profile_freep)
		struct profile *a = random_profile_new(seed, RANDOM_WITH_STRANGERS);
		CLEANUP(profile_freep) struct profile *once = canonical(a);
		CLEANUP(profile_freep) struct profile *twice = canonical(once);
		assert_true(profiles_are_identical(once, twice));
		assert_null(profile_fault(once));
		assert_true(a->bytes.count >= once->bytes.count);
	}
}

static unsigned __int128 total(const struct profile *profile, enum profile_table which, size_t slot)
{
	const struct table *table = profile_table(profile, which);
	unsigned __int128 sum = 0;
	for (size_t row = 0; row < table->count; row++)
		sum += table_values(table, row)[slot];
	return sum;
}

static void merging_adds_every_total(void **state)
{
	(void)state;
	static const enum profile_table tables[] = { PROFILE_FLAT, PROFILE_STACK, PROFILE_COUNTER };
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		CLEANUP(profile_freep) struct profile *a = random_profile_new(seed, RANDOM_KNOWN);
		CLEANUP(profile_freep)
		struct profile *b = random_profile_new(seed + 1000, RANDOM_KNOWN);
		CLEANUP(profile_freep)
		struct profile *sum = merged((const struct profile *[]){ a, b }, 2);
		for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
			for (size_t slot = CELL_SAMPLES; slot <= CELL_ESTIMATE; slot++)
				assert_true(total(a, tables[i], slot) + total(b, tables[i], slot) ==
					    total(sum, tables[i], slot));
	}
}

static void a_profile_merged_with_itself_doubles(void **state)
{
	(void)state;
	CLEANUP(profile_freep) struct profile *a = random_profile_new(7, RANDOM_WITH_STRANGERS);
	CLEANUP(profile_freep)
	struct profile *twice = merged((const struct profile *[]){ a, a }, 2);
	CLEANUP(profile_freep) struct profile *once = canonical(a);
	assert_int_equal(profile_table(twice, PROFILE_FLAT)->count,
			 profile_table(once, PROFILE_FLAT)->count);
	assert_true(total(twice, PROFILE_FLAT, CELL_ESTIMATE) ==
		    2 * total(once, PROFILE_FLAT, CELL_ESTIMATE));
}

static uint64_t named_value(const struct table *table, const char *column)
{
	size_t slot = table_column_slot(table, (size_t)table_find_column(table, column));
	return table_values(table, 0)[slot];
}

static void an_unknown_table_merges_by_its_declaration(void **state)
{
	(void)state;
	static const struct column columns[] = {
		{ "what", COLUMN_BYTES, RULE_KEY }, { "total", COLUMN_U64, RULE_SUM },
		{ "least", COLUMN_U64, RULE_MIN },  { "most", COLUMN_U64, RULE_MAX },
		{ "seen", COLUMN_U64, RULE_SET },
	};
	CLEANUP(profile_freep) struct profile *first = profile_new();
	CLEANUP(profile_freep) struct profile *second = profile_new();
	struct profile *const parts[] = { first, second };
	for (size_t i = 0; i < 2; i++) {
		uint32_t other, name;
		if (i) /* so that the ids differ */
			assert_int_equal(profile_add_text(parts[i], "other", &other), 0);
		assert_int_equal(profile_add_text(parts[i], "thing", &name), 0);
		struct table *table = profile_add_table(parts[i], "invented", columns, 5);
		const uint64_t keys[] = { name };
		const uint64_t values[] = { 10 + i, 5 - i, 5 + i, 1u << i };
		assert_int_equal(table_add(table, keys, values, NULL), 0);
	}
	CLEANUP(profile_freep)
	struct profile *sum = merged((const struct profile *const *)parts, 2);
	const struct table *table = profile_find_table(sum, "invented");
	assert_non_null(table);
	assert_int_equal(table->count, 1);
	assert_true(span_equal(profile_bytes(sum, table_keys(table, 0)[0]), span_of_text("thing")));
	assert_int_equal(named_value(table, "total"), 21);
	assert_int_equal(named_value(table, "least"), 4);
	assert_int_equal(named_value(table, "most"), 6);
	assert_int_equal(named_value(table, "seen"), 3);
}

static void a_column_declared_in_two_ways_is_refused(void **state)
{
	(void)state;
	static const struct column sum[] = { { "k", COLUMN_U64, RULE_KEY },
					     { "v", COLUMN_U64, RULE_SUM } };
	static const struct column max[] = { { "k", COLUMN_U64, RULE_KEY },
					     { "v", COLUMN_U64, RULE_MAX } };
	CLEANUP(profile_freep) struct profile *a = profile_new();
	CLEANUP(profile_freep) struct profile *b = profile_new();
	assert_non_null(profile_add_table(a, "t", sum, 2));
	assert_non_null(profile_add_table(b, "t", max, 2));
	struct error err;
	assert_int_equal(profile_merge(a, b, &err), -EBADMSG);
	assert_string_equal(err.text, "column 'v' of table 't' is declared in two ways");
}

static void stable_names_survive_renumbering(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		CLEANUP(profile_freep)
		struct profile *a = random_profile_new(seed, RANDOM_WITH_STRANGERS);
		CLEANUP(profile_freep) struct profile *b = canonical(a);
		for (enum profile_table which = PROFILE_EVENT; which < PROFILE_SOURCE; which++) {
			size_t rows = profile_table(a, which)->count;
			size_t kept = profile_table(b, which)->count;
			CLEANUP(free_pointer)
			struct hash128 *before = calloc(rows + 1, sizeof(*before));
			CLEANUP(free_pointer)
			struct hash128 *after = calloc(kept + 1, sizeof(*after));
			assert_int_equal(profile_stable_names(a, which, before), 0);
			assert_int_equal(profile_stable_names(b, which, after), 0);
			for (size_t i = 0; i < kept; i++) {
				size_t j = 0;
				while (j < rows && memcmp(&before[j], &after[i], sizeof(*after)))
					j++;
				assert_true(j < rows);
			}
		}
	}
}

static void events_read_back_as_written(void **state)
{
	(void)state;
	CLEANUP(profile_freep) struct profile *profile = profile_new();
	struct profile_event event = {
		.name = span_of_text("cycles:u"),
		.unit = span_of_text("cycles"),
		.scale = 2,
		.pmu = span_of_text("cpu"),
		.core_type = span_of_text("core"),
		.type = 4,
		.config = 5,
		.config1 = 6,
		.config2 = 7,
		.clock = EVENT_CLOCK,
		.policy = PERIOD_RANDOM,
		.period = 8,
		.precise = 2,
		.exclude = EXCLUDE_KERNEL,
		.skid = 2,
		.origin = ORIGIN_IMPORTED,
		.sampled = 1,
		.leader = span_of_text("l"),
		.apart = 1,
	};
	uint32_t id, again;
	assert_int_equal(profile_add_event(profile, &event, &id), 0);
	assert_int_equal(profile_add_event(profile, &event, &again), 0);
	assert_int_equal(id, again);
	struct profile_event back = profile_event(profile, id);
	assert_true(span_equal(back.name, event.name) && span_equal(back.unit, event.unit) &&
		    span_equal(back.pmu, event.pmu) &&
		    span_equal(back.core_type, event.core_type) &&
		    span_equal(back.leader, event.leader));
	assert_true(back.scale == 2 && back.type == 4 && back.config == 5 && back.config1 == 6 &&
		    back.config2 == 7 && back.clock == EVENT_CLOCK &&
		    back.policy == PERIOD_RANDOM && back.period == 8 && back.precise == 2 &&
		    back.exclude == EXCLUDE_KERNEL && back.skid == 2 &&
		    back.origin == ORIGIN_IMPORTED && back.sampled == 1 && back.apart == 1);
}

static void sources_and_contexts_read_back_as_written(void **state)
{
	(void)state;
	CLEANUP(profile_freep) struct profile *profile = profile_new();
	struct profile_source source = { .host = span_of_text("h"),
					 .labels = span_of_text("a=b"),
					 .cpus = 2,
					 .start_ns = 3,
					 .epoch = 4,
					 .duration_ns = 5 };
	assert_int_equal(profile_add_source(profile, &source), 0);
	source.duration_ns = 9;
	assert_int_equal(profile_add_source(profile, &source), 0);
	assert_int_equal(profile_table(profile, PROFILE_SOURCE)->count, 1);
	struct profile_source back = profile_source(profile, 0);
	assert_true(span_equal(back.host, source.host) && span_equal(back.labels, source.labels));
	assert_null(back.kernel.data);
	assert_true(back.cpus == 2 && back.start_ns == 3 && back.epoch == 4 &&
		    back.duration_ns == 9);

	struct profile_context context = { .comm = span_of_text("gcc"),
					   .pid = optional_of(0),
					   .cpu = optional_of(3) };
	uint32_t id;
	assert_int_equal(profile_add_context(profile, &context, &id), 0);
	struct profile_context who = profile_context(profile, id);
	assert_true(span_equal(who.comm, span_of_text("gcc")));
	assert_null(who.cgroup.data);
	assert_true(who.pid == optional_of(0) && who.tid == OPTIONAL_ABSENT);
	assert_true(who.cpu == optional_of(3));
}

/* Of the only row of a table, the key of that name. */
static uint64_t key_named(const struct profile *profile, enum profile_table which, const char *name)
{
	size_t count;
	const struct column *columns = profile_columns(which, &count);
	for (size_t i = 0; i < count; i++)
		if (strcmp(columns[i].name, name) == 0)
			return table_keys(profile_table(profile, which), 0)[i];
	fail_msg("%s has no column %s", profile_table_name(which), name);
	return 0;
}

static void assert_text_named(const struct profile *profile, enum profile_table which,
			      const char *name)
{
	uint64_t id = key_named(profile, which, name);
	assert_true(span_equal(profile_bytes(profile, id), span_of_text(name)));
}

#define T(name) .name = span_of_text(#name)

static void every_field_is_in_the_column_of_its_name(void **state)
{
	(void)state;
	CLEANUP(profile_freep) struct profile *profile = profile_new();
	const struct profile_event event = {
		T(name),     T(unit),	    T(pmu),	   T(core_type), T(leader),    .scale = 2,
		.type = 3,   .config = 4,   .config1 = 5,  .config2 = 6, .clock = 7,   .policy = 8,
		.period = 9, .precise = 10, .exclude = 11, .skid = 12,	 .origin = 13, .sampled = 14
	};
	const struct profile_image image = { T(build_id), T(hash),    T(name),
					     .kind = 2,	  .space = 3, .writer = 4 };
	const struct profile_context context = { T(comm),   T(cgroup),	   T(container),
						 T(thread), T(core_type),  T(labels),
						 .pid = 2,  .start_ns = 3, .tid = 4,
						 .cpu = 5 };
	const struct profile_source source = {
		T(host),      T(boot_id),   T(kernel),	   T(machine),	  T(cpu_vendor),
		T(cpu_model), T(cpu_name),  T(microcode),  T(smt),	  T(governor),
		T(turbo),     T(frequency), T(hypervisor), T(clock),	  T(command),
		T(tool),      T(labels),    .cpus = 2,	   .start_ns = 3, .epoch = 4
	};
	uint32_t id;
	assert_int_equal(profile_add_event(profile, &event, &id), 0);
	assert_int_equal(profile_add_image(profile, &image, &id), 0);
	assert_int_equal(profile_add_context(profile, &context, &id), 0);
	assert_int_equal(profile_add_source(profile, &source), 0);
	static const struct {
		enum profile_table table;
		const char *numbers[14];
	} tables[] = {
		{ PROFILE_EVENT,
		  { "scale", "type", "config", "config1", "config2", "clock", "policy", "period",
		    "precise", "exclude", "skid", "origin", "sampled" } },
		{ PROFILE_IMAGE, { "kind", "space", "writer" } },
		{ PROFILE_CONTEXT, { "pid", "start_ns", "tid", "cpu" } },
		{ PROFILE_SOURCE, { "cpus", "start_ns", "epoch" } },
	};
	for (size_t t = 0; t < COUNT_OF(tables); t++) {
		size_t count;
		const struct column *columns = profile_columns(tables[t].table, &count);
		for (size_t i = 0; tables[t].numbers[i]; i++)
			assert_int_equal(key_named(profile, tables[t].table, tables[t].numbers[i]),
					 i + 2);
		for (size_t i = 0; i < count; i++)
			if (columns[i].type == COLUMN_BYTES)
				assert_text_named(profile, tables[t].table, columns[i].name);
	}
}

static void sums_stop_at_their_largest_value(void **state)
{
	(void)state;
	CLEANUP(profile_freep) struct profile *profile = profile_new();
	struct cell cell = { UINT64_MAX, UINT64_MAX, ~(unsigned __int128)0 };
	for (int i = 0; i < 2; i++)
		assert_int_equal(profile_add_counter(profile, 0, 0, &cell), 0);
	struct cell back = cell_of_values(table_values(profile_table(profile, PROFILE_COUNTER), 0));
	assert_true(back.samples == UINT64_MAX && back.estimate == UINT64_MAX &&
		    back.squares == ~(unsigned __int128)0);
}

/* What the checker of invariants is for. */
static void a_profile_that_was_tampered_with_has_a_fault(void **state)
{
	(void)state;
	CLEANUP(profile_freep) struct profile *profile = random_profile_new(5, RANDOM_KNOWN);
	struct table *flat = profile->tables[PROFILE_FLAT], *nodes = profile->tables[PROFILE_NODE];
	assert_true(flat->count > 1 && nodes->count > 1);
	assert_null(profile_fault(profile));

	uint64_t kept = flat->keys[FLAT_VADDR];
	flat->keys[FLAT_VADDR] ^= UINT64_C(1) << 60;
	assert_string_equal(profile_fault(profile), "a row is not found by its key");
	flat->keys[FLAT_VADDR] = kept;
	flat->count--;
	assert_string_equal(profile_fault(profile),
			    "an index has more or fewer rows than its table");
	flat->count++;

	flat->unindexed = nodes->unindexed = true; /* only what rows refer to is looked at */
	kept = flat->keys[FLAT_IMAGE];
	flat->keys[FLAT_IMAGE] = profile_table(profile, PROFILE_IMAGE)->count + 1;
	assert_string_equal(profile_fault(profile), "a reference goes beyond the end of its table");
	flat->keys[FLAT_IMAGE] = kept;
	kept = flat->keys[FLAT_NAME];
	flat->keys[FLAT_NAME] = profile->bytes.count + 1;
	assert_string_equal(profile_fault(profile), "a reference goes beyond the end of its table");
	flat->keys[FLAT_NAME] = kept;
	kept = nodes->keys[NODE_PARENT];
	nodes->keys[NODE_PARENT] = 1; /* itself */
	assert_string_equal(profile_fault(profile), "a node's parent comes after it");
	nodes->keys[NODE_PARENT] = kept;
	assert_null(profile_fault(profile));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(merging_in_any_order_gives_the_same),
		cmocka_unit_test(the_canonical_form_comes_one_table_at_a_time),
		cmocka_unit_test(canonical_form_is_its_own_canonical_form),
		cmocka_unit_test(merging_adds_every_total),
		cmocka_unit_test(a_profile_merged_with_itself_doubles),
		cmocka_unit_test(an_unknown_table_merges_by_its_declaration),
		cmocka_unit_test(a_column_declared_in_two_ways_is_refused),
		cmocka_unit_test(stable_names_survive_renumbering),
		cmocka_unit_test(events_read_back_as_written),
		cmocka_unit_test(sources_and_contexts_read_back_as_written),
		cmocka_unit_test(every_field_is_in_the_column_of_its_name),
		cmocka_unit_test(sums_stop_at_their_largest_value),
		cmocka_unit_test(a_profile_that_was_tampered_with_has_a_fault),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
