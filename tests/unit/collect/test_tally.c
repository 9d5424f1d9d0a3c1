#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "collect/tally.h"

static uint32_t add_image(struct profile *profile, const char *name)
{
	uint32_t id;
	struct profile_image image = { .kind = IMAGE_FILE, .name = span_of_text(name) };
	assert_int_equal(profile_add_image(profile, &image, &id), 0);
	assert_int_equal(profile_add_path(profile, id, span_of_text(name)), 0);
	return id;
}

static struct profile *take(struct tally *tally)
{
	struct profile *delta = profile_new();
	struct tally_translation translation;
	assert_non_null(delta);
	assert_int_equal(tally_translation_init(&translation, tally->session, delta), 0);
	assert_int_equal(tally_flush(tally, &translation), 0);
	tally_translation_release(&translation);
	return delta;
}

static void each_take_hands_out_what_came_since_the_last(void **state)
{
	(void)state;
	CLEANUP(profile_freep) struct profile *session = profile_new();
	struct tally tally;
	assert_int_equal(tally_init(&tally, session), 0);
	struct profile_event event = { .name = span_of_text("cpu-clock"), .sampled = 1 };
	struct profile_context context = { .comm = span_of_text("a") };
	struct tally_place place = { 0 };
	assert_int_equal(profile_add_event(session, &event, &place.event), 0);
	assert_int_equal(profile_add_context(session, &context, &place.context), 0);
	add_image(session, "/unused");
	place.image = add_image(session, "/used");
	assert_int_equal(cells_node(&tally.cells, 0, place.image, 7, FRAME_RETURN, &place.calls),
			 0);
	place.vaddr = 9;
	place.stack = true;

	uint32_t number;
	uint32_t again;
	assert_int_equal(tally_place(&tally, &place, &number), 0);
	assert_int_equal(tally_place(&tally, &place, &again), 0);
	assert_int_equal(number, again);
	struct cell cell = { 2, 2000, 2000000 };
	assert_int_equal(tally_add(&tally, number, &cell), 0);
	assert_int_equal(tally_add(&tally, number, &cell), 0);
	assert_null(tally_fault(&tally));

	CLEANUP(profile_freep) struct profile *first = take(&tally);
	assert_null(tally_fault(&tally));
	assert_null(profile_fault(first));
	const struct table *flat = profile_table(first, PROFILE_FLAT);
	assert_int_equal(flat->count, 1);
	struct cell sum = cell_of_values(table_values(flat, 0));
	assert_int_equal(sum.samples, 4);
	assert_int_equal(sum.estimate, 4000);
	assert_true(sum.squares == 4000000);
	assert_int_equal(profile_table(first, PROFILE_STACK)->count, 1);
	assert_int_equal(profile_table(first, PROFILE_NODE)->count, 2);
	assert_int_equal(profile_table(first, PROFILE_IMAGE)->count, 1);
	assert_int_equal(profile_table(first, PROFILE_PATH)->count, 1);

	CLEANUP(profile_freep) struct profile *empty = take(&tally);
	assert_int_equal(profile_table(empty, PROFILE_FLAT)->count, 0);
	cell.samples = 0; /* of a group's member */
	assert_int_equal(tally_add(&tally, number, &cell), 0);
	CLEANUP(profile_freep) struct profile *second = take(&tally);
	sum = cell_of_values(table_values(profile_table(second, PROFILE_FLAT), 0));
	assert_int_equal(sum.samples, 0);
	assert_int_equal(sum.estimate, 2000);
	tally_release(&tally);
}

/* What the checker of invariants is for. */
static void a_tally_that_was_tampered_with_has_a_fault(void **state)
{
	(void)state;
	CLEANUP(profile_freep) struct profile *session = profile_new();
	struct tally tally;
	assert_int_equal(tally_init(&tally, session), 0);
	struct tally_place place = { .image = add_image(session, "/one") };
	struct cell cell = { 1, 1000, 1000000 };
	uint32_t number;
	for (place.vaddr = 0; place.vaddr < 3; place.vaddr++) {
		assert_int_equal(tally_place(&tally, &place, &number), 0);
		assert_int_equal(tally_add(&tally, number, &cell), 0);
	}
	assert_null(tally_fault(&tally));

	tally.places[1].vaddr = 9;
	assert_string_equal(tally_fault(&tally), "a place is not found");
	tally.places[1].vaddr = 1;
	tally.places[1].image = 2;
	assert_string_equal(tally_fault(&tally), "a place is of an event, a context or an image "
						 "that is not there");
	tally.places[1].image = 1;
	tally.places[1].calls = 1;
	assert_string_equal(tally_fault(&tally), "a place has callers that are not there");
	tally.places[1].calls = 0;
	tally.changed[2] = 0;
	assert_string_equal(tally_fault(&tally), "a place that changed is listed twice");
	tally.changed[2] = 3;
	assert_string_equal(tally_fault(&tally), "a place that changed is not there");
	tally.changed[2] = 2;
	tally.places[2].cell = (struct cell){ 0 };
	assert_string_equal(tally_fault(&tally),
			    "what changed and what has something to hand out are not the same");
	tally.places[2].cell = cell;
	tally.count--;
	assert_string_equal(tally_fault(&tally),
			    "the index has more or fewer places than there are");
	tally.count++;
	assert_null(tally_fault(&tally));
	tally_release(&tally);
}

/* A stack apart has the time of samples that were counted elsewhere: it is in no row of theirs. */
static void a_stack_apart_is_not_in_flat(void **state)
{
	(void)state;
	CLEANUP(profile_freep) struct profile *session = profile_new();
	struct tally tally;
	assert_int_equal(tally_init(&tally, session), 0);
	struct profile_event event = { .name = span_of_text("cpu-clock"), .sampled = 1 };
	struct tally_place place = { .vaddr = 9, .stack = true };
	assert_int_equal(profile_add_event(session, &event, &place.event), 0);
	place.image = add_image(session, "/used");
	uint32_t beside, apart, counted;
	assert_int_equal(tally_place(&tally, &place, &beside), 0);
	place.apart = true;
	assert_int_equal(tally_place(&tally, &place, &apart), 0);
	place.apart = place.stack = false;
	assert_int_equal(tally_place(&tally, &place, &counted), 0);
	assert_true(beside != apart && apart != counted && beside != counted);
	const struct cell one = { 1, 10, 100 }, two = { 2, 20, 200 }, four = { 4, 40, 400 };
	assert_int_equal(tally_add(&tally, beside, &one), 0);
	assert_int_equal(tally_add(&tally, apart, &two), 0);
	assert_int_equal(tally_add(&tally, counted, &four), 0);
	assert_null(tally_fault(&tally));
	CLEANUP(profile_freep) struct profile *taken = take(&tally);
	const struct table *flat = profile_table(taken, PROFILE_FLAT);
	const struct table *stacks = profile_table(taken, PROFILE_STACK);
	assert_true(flat->count == 1 && stacks->count == 1);
	assert_int_equal(cell_of_values(table_values(flat, 0)).samples, 5);
	assert_int_equal(cell_of_values(table_values(stacks, 0)).samples, 3);
	tally_release(&tally);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stack_apart_is_not_in_flat),
		cmocka_unit_test(each_take_hands_out_what_came_since_the_last),
		cmocka_unit_test(a_tally_that_was_tampered_with_has_a_fault),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
