#include "support/random_profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/random.h"

static void must(int ret)
{
	if (ret < 0)
		abort();
}

/* Few different texts, so that profiles of different seeds share some. */
static struct span text(struct random_state *random, const char *stem, char room[32])
{
	uint64_t pick = random_below(random, 6);
	if (pick == 0)
		return (struct span){ NULL, 0 };
	snprintf(room, 32, "%s%d", stem, (int)pick);
	return span_of_text(room);
}

struct ids {
	uint32_t events[3], images[5], contexts[4], nodes[12], names[4];
};

static struct cell random_cell(struct random_state *random)
{
	uint64_t samples = random_below(random, 5);
	uint64_t weight = random_below(random, 1000000);
	return (struct cell){ samples, samples * weight,
			      (unsigned __int128)samples * weight * weight };
}

static struct profile_frame random_frame(struct random_state *random, const struct ids *ids)
{
	struct profile_frame frame = { .kind = random_below(random, 2) };
	if (random_below(random, 4)) {
		frame.image = ids->images[random_below(random, 5)];
		frame.vaddr = random_below(random, 64) * 4;
	} else {
		frame.name = ids->names[random_below(random, 4)];
	}
	return frame;
}

static void add_dictionaries(struct profile *profile, struct random_state *random, struct ids *ids)
{
	char a[32], b[32], c[32];
	for (int i = 0; i < 4; i++)
		must(profile_add_bytes(profile, text(random, "name", a), &ids->names[i]));
	for (int i = 0; i < 3; i++) {
		struct profile_event event = { .name = text(random, "event", a),
					       .unit = text(random, "unit", b),
					       .type = random_below(random, 3),
					       .period = random_below(random, 2) * 1000,
					       .sampled = random_below(random, 2) };
		must(profile_add_event(profile, &event, &ids->events[i]));
	}
	for (int i = 0; i < 5; i++) {
		struct profile_image image = { .kind = 1 + random_below(random, 3),
					       .build_id = text(random, "\x01\0id", a),
					       .name = text(random, "image", b) };
		must(profile_add_image(profile, &image, &ids->images[i]));
		must(profile_add_path(profile, ids->images[i], text(random, "/path", c)));
	}
	for (int i = 0; i < 4; i++) {
		struct profile_context context = { .comm = text(random, "comm", a),
						   .cgroup = text(random, "/group", b),
						   .pid = random_below(random, 4),
						   .cpu = random_below(random, 3) };
		must(profile_add_context(profile, &context, &ids->contexts[i]));
	}
	for (int i = 0; i < 12; i++) {
		struct profile_frame frame = random_frame(random, ids);
		uint32_t parent = i < 3 ? 0 : ids->nodes[random_below(random, (uint64_t)i)];
		must(profile_add_node(profile, parent, &frame, &ids->nodes[i]));
	}
}

static void add_relations(struct profile *profile, struct random_state *random,
			  const struct ids *ids)
{
	for (int i = 0; i < 40; i++) {
		uint32_t event = ids->events[random_below(random, 3)];
		uint32_t context = ids->contexts[random_below(random, 4)];
		struct profile_frame leaf = random_frame(random, ids);
		struct cell cell = random_cell(random);
		must(profile_add_flat(profile, event, context, &leaf, &cell));
		must(profile_add_stack(profile, event, context,
				       ids->nodes[random_below(random, 12)], &cell));
		must(profile_add_counter(profile, event, context, &cell));
		must(profile_add_strip(profile, random_below(random, 5), event, context, 1));
		must(profile_add_bill(profile, event, optional_of(random_below(random, 2)),
				      "stored", cell.samples));
		const uint64_t edge[] = { event,     context,	     0,	     leaf.image, leaf.vaddr,
					  leaf.name, ids->images[0], i % 7u, 0 };
		const uint64_t edge_values[] = { 2, 1 };
		must(table_add(profile->tables[PROFILE_EDGE], edge, edge_values, NULL));
		const uint64_t stash[] = { ids->images[1], 1, random_below(random, 3), 9,
					   ids->names[random_below(random, 4)] };
		must(table_add(profile->tables[PROFILE_STASH], stash, NULL, NULL));
	}
	struct profile_source source = { .host = span_of_text("host"),
					 .start_ns = random_below(random, 3),
					 .duration_ns = random_below(random, 100) };
	must(profile_add_source(profile, &source));
}

static void add_strangers(struct profile *profile, struct random_state *random,
			  const struct ids *ids)
{
	static const struct column columns[] = {
		{ "node", COLUMN_NODE, RULE_KEY },   { "what", COLUMN_BYTES, RULE_KEY },
		{ "image", COLUMN_IMAGE, RULE_KEY }, { "when", COLUMN_OPTIONAL, RULE_KEY },
		{ "total", COLUMN_U64, RULE_SUM },   { "least", COLUMN_U64, RULE_MIN },
		{ "most", COLUMN_U64, RULE_MAX },    { "seen", COLUMN_U64, RULE_SET },
		{ "wide", COLUMN_U128, RULE_SUM },
	};
	struct table *table = profile_add_table(profile, "invented", columns,
						sizeof(columns) / sizeof(columns[0]));
	if (!table)
		abort();
	for (int i = 0; i < 20; i++) {
		uint64_t bit = UINT64_C(1) << random_below(random, 64);
		uint64_t n = random_u64(random) >> 8;
		const uint64_t keys[] = { ids->nodes[random_below(random, 12)],
					  ids->names[random_below(random, 4)],
					  ids->images[random_below(random, 5)],
					  random_below(random, 3) };
		const uint64_t values[] = { n, n, n, bit, n, n };
		must(table_add(table, keys, values, NULL));
	}
	/* A column that came later, on a dictionary; the seeds disagree on which. */
	struct column extra = { "colour", COLUMN_BYTES, RULE_KEY };
	if (random_below(random, 2))
		strcpy(extra.name, "smell");
	must(table_add_column(profile->tables[PROFILE_CONTEXT], &extra));
	const uint64_t context[] = { ids->names[0], 0, 0, 0, 0, 0, 0, 0, 0, 0, ids->names[1] };
	uint32_t row;
	must(table_add(profile->tables[PROFILE_CONTEXT], context, NULL, &row));
	struct profile_frame leaf = random_frame(random, ids);
	struct cell cell = { 1, 10, 100 };
	must(profile_add_flat(profile, ids->events[0], row + 1, &leaf, &cell));
}

struct profile *random_profile_new(uint64_t seed, enum random_profile_kind kind)
{
	struct random_state random = random_seed(seed);
	struct profile *profile = profile_new();
	if (!profile)
		abort();
	struct ids ids;
	add_dictionaries(profile, &random, &ids);
	add_relations(profile, &random, &ids);
	if (kind == RANDOM_WITH_STRANGERS)
		add_strangers(profile, &random, &ids);
	return profile;
}

static bool tables_are_identical(const struct table *a, const struct table *b)
{
	return strcmp(a->name, b->name) == 0 && a->column_count == b->column_count &&
	       memcmp(a->columns, b->columns, a->column_count * sizeof(struct column)) == 0 &&
	       a->count == b->count &&
	       (a->count == 0 ||
		(memcmp(a->keys, b->keys, a->count * a->key_slots * sizeof(uint64_t)) == 0 &&
		 (a->value_slots == 0 ||
		  memcmp(a->values, b->values, a->count * a->value_slots * sizeof(uint64_t)) ==
			  0)));
}

bool profiles_are_identical(const struct profile *a, const struct profile *b)
{
	if (a->table_count != b->table_count || a->bytes.count != b->bytes.count)
		return false;
	for (size_t i = 0; i < a->bytes.count; i++)
		if (!span_equal(a->bytes.spans[i], b->bytes.spans[i]))
			return false;
	for (size_t i = 0; i < a->table_count; i++)
		if (!tables_are_identical(a->tables[i], b->tables[i]))
			return false;
	return true;
}

bool profiles_are_equal(const struct profile *a, const struct profile *b)
{
	CLEANUP(profile_freep) struct profile *left = NULL;
	CLEANUP(profile_freep) struct profile *right = NULL;
	must(profile_canonical(a, &left));
	must(profile_canonical(b, &right));
	return profiles_are_identical(left, right);
}
