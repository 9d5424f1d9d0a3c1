#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "collect/edge_tally.h"
#include "collect/tally.h"

static uint32_t add_image(struct profile *profile, const char *name)
{
	uint32_t id;
	struct profile_image image = { .kind = IMAGE_FILE, .name = span_of_text(name) };
	assert_int_equal(profile_add_image(profile, &image, &id), 0);
	assert_int_equal(profile_add_path(profile, id, span_of_text(name)), 0);
	return id;
}

static struct profile *take(struct edge_tally *edges, struct tally *tally)
{
	struct profile *delta = profile_new();
	struct tally_translation translation;
	assert_non_null(delta);
	assert_int_equal(tally_translation_init(&translation, tally->session, delta), 0);
	assert_int_equal(edge_tally_flush(edges, &translation), 0);
	assert_int_equal(tally_flush(tally, &translation), 0);
	tally_translation_release(&translation);
	return delta;
}

static const uint64_t *only_edge(const struct profile *profile, uint64_t *count)
{
	const struct table *edges = profile_table(profile, PROFILE_EDGE);
	assert_int_equal(edges->count, 1);
	*count = table_values(edges, 0)[0];
	return table_keys(edges, 0);
}

static void each_take_hands_out_the_branches_since_the_last(void **state)
{
	(void)state;
	CLEANUP(profile_freep) struct profile *session = profile_new();
	struct tally tally = { .session = session };
	struct edge_tally edges = { 0 };
	struct profile_event event = { .name = span_of_text("cpu-clock"), .sampled = 1 };
	struct profile_context context = { .comm = span_of_text("a") };
	struct edge_row edge = { .from_vaddr = 0x10, .to_vaddr = 0x20, .count = 77 };
	assert_int_equal(profile_add_event(session, &event, &edge.event), 0);
	assert_int_equal(profile_add_context(session, &context, &edge.context), 0);
	add_image(session, "/unused");
	edge.from_image = add_image(session, "/from");
	edge.to_image = add_image(session, "/to");
	for (int i = 0; i < 3; i++)
		assert_int_equal(edge_tally_add(&edges, &edge), 0);

	uint64_t count;
	CLEANUP(profile_freep) struct profile *first = take(&edges, &tally);
	const uint64_t *keys = only_edge(first, &count);
	assert_int_equal(count, 3);
	assert_int_equal(keys[EDGE_ORIGIN], ORIGIN_INTERPRETED);
	assert_int_equal(keys[EDGE_FROM_VADDR], 0x10);
	assert_int_equal(keys[EDGE_TO_VADDR], 0x20);
	assert_true(span_equal(profile_image(first, keys[EDGE_FROM_IMAGE]).name,
			       span_of_text("/from")));
	assert_true(
		span_equal(profile_image(first, keys[EDGE_TO_IMAGE]).name, span_of_text("/to")));
	assert_int_equal(profile_table(first, PROFILE_PATH)->count, 2);

	CLEANUP(profile_freep) struct profile *empty = take(&edges, &tally);
	assert_int_equal(profile_table(empty, PROFILE_EDGE)->count, 0);
	assert_int_equal(edge_tally_add(&edges, &edge), 0);
	CLEANUP(profile_freep) struct profile *second = take(&edges, &tally);
	only_edge(second, &count);
	assert_int_equal(count, 1);
	edge_tally_release(&edges);
	tally_release(&tally);
}

static void whatever_differs_makes_another_row(void **state)
{
	(void)state;
	struct edge_tally edges = { 0 };
	const struct edge_row rows[] = {
		{ .event = 1, .from_vaddr = 1, .to_vaddr = 2 },
		{ .event = 2, .from_vaddr = 1, .to_vaddr = 2 },
		{ .event = 1, .context = 1, .from_vaddr = 1, .to_vaddr = 2 },
		{ .event = 1, .from_image = 1, .from_vaddr = 1, .to_vaddr = 2 },
		{ .event = 1, .to_image = 1, .from_vaddr = 1, .to_vaddr = 2 },
		{ .event = 1, .from_vaddr = 2, .to_vaddr = 2 },
		{ .event = 1, .from_vaddr = 1, .to_vaddr = 1 },
		{ .event = 1, .from_vaddr = 2, .to_vaddr = 1 },
	};
	size_t count = sizeof(rows) / sizeof(rows[0]);
	for (int round = 0; round < 2; round++)
		for (size_t i = 0; i < count; i++)
			assert_int_equal(edge_tally_add(&edges, &rows[i]), 0);
	assert_int_equal(edges.count, count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(edges.rows[i].count, 2);
	edge_tally_release(&edges);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_take_hands_out_the_branches_since_the_last),
		cmocka_unit_test(whatever_differs_makes_another_row),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
