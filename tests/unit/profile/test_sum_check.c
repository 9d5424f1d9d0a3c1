#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "profile/profile.h"
#include "profile/sum_check.h"

static uint32_t add_event(struct profile *profile, const char *name, uint64_t period)
{
	const struct profile_event event = { .name = span_of_text(name),
					     .period = period,
					     .sampled = 1 };
	uint32_t id;
	assert_int_equal(profile_add_event(profile, &event, &id), 0);
	return id;
}

static void add_flat(struct profile *profile, uint32_t event, uint64_t vaddr, uint64_t samples,
		     uint64_t estimate)
{
	const struct profile_frame leaf = { .vaddr = vaddr };
	const struct cell cell = { samples, estimate, 1 };
	assert_int_equal(profile_add_flat(profile, event, 0, &leaf, &cell), 0);
}

static void sums_that_fit_are_none_of_its_business(void **state)
{
	(void)state;
	CLEANUP(profile_freep) struct profile *profile = profile_new();
	struct error err;
	assert_int_equal(profile_check_sums(profile, &err), 0);
	uint32_t event = add_event(profile, "cycles", 1);
	add_flat(profile, event, 0x10, 5, UINT64_MAX / 2);
	add_flat(profile, event, 0x20, 7, UINT64_MAX / 2);
	assert_int_equal(profile_check_sums(profile, &err), 0);
}

static void estimates_are_added_up_by_the_events_name(void **state)
{
	(void)state;
	CLEANUP(profile_freep) struct profile *profile = profile_new();
	struct error err;
	add_flat(profile, add_event(profile, "cycles", 1), 0x10, 1, UINT64_C(1) << 63);
	add_flat(profile, add_event(profile, "instructions", 1), 0x10, 1, UINT64_C(1) << 63);
	assert_int_equal(profile_check_sums(profile, &err), 0);
	/* another period, another row of events, one column of a report */
	add_flat(profile, add_event(profile, "cycles", 2), 0x20, 1, UINT64_C(1) << 63);
	assert_int_equal(profile_check_sums(profile, &err), -EOVERFLOW);
	assert_string_equal(err.text, "the estimates of event 'cycles' sum past 64 bits");
}

static void samples_are_added_up_whatever_their_event(void **state)
{
	(void)state;
	CLEANUP(profile_freep) struct profile *profile = profile_new();
	struct error err;
	add_flat(profile, add_event(profile, "cycles", 1), 0x10, UINT64_C(1) << 63, 1);
	add_flat(profile, add_event(profile, "instructions", 1), 0x10, UINT64_C(1) << 63, 1);
	assert_int_equal(profile_check_sums(profile, &err), -EOVERFLOW);
	assert_string_equal(err.text, "column 'samples' of table 'flat' sums past 64 bits");
}

static void branches_are_added_up_too(void **state)
{
	(void)state;
	CLEANUP(profile_freep) struct profile *profile = profile_new();
	struct error err;
	uint32_t event = add_event(profile, "branches", 1);
	const struct profile_frame from = { .vaddr = 0x10 };
	for (uint64_t i = 0; i < 3; i++) {
		const struct profile_frame to = { .vaddr = 0x20 + i };
		assert_int_equal(profile_add_edge(profile, event, 0, ORIGIN_MEASURED, &from, &to,
						  UINT64_MAX / 3 + 1, 0),
				 0);
	}
	assert_int_equal(profile_check_sums(profile, &err), -EOVERFLOW);
	assert_string_equal(err.text, "column 'count' of table 'edge' sums past 64 bits");
}

static void what_merging_stopped_at_64_bits_is_found(void **state)
{
	(void)state;
	CLEANUP(profile_freep) struct profile *profile = profile_new();
	CLEANUP(profile_freep) struct profile *other = profile_new();
	struct error err;
	add_flat(profile, add_event(profile, "cycles", 1), 0x10, 1, UINT64_MAX - 1);
	add_flat(other, add_event(other, "cycles", 1), 0x10, 1, UINT64_MAX - 1);
	assert_int_equal(profile_check_sums(profile, &err), 0);
	assert_int_equal(profile_merge(profile, other, &err), 0);
	assert_int_equal(profile_check_sums(profile, &err), -EOVERFLOW);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_that_fit_are_none_of_its_business),
		cmocka_unit_test(estimates_are_added_up_by_the_events_name),
		cmocka_unit_test(samples_are_added_up_whatever_their_event),
		cmocka_unit_test(branches_are_added_up_too),
		cmocka_unit_test(what_merging_stopped_at_64_bits_is_found),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
