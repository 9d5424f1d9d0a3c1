#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "analyze/culprits/summary.h"
#include "annotate_subject.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/random.h"
#include "profile/stash.h"

#define PERIOD	   1000u
#define PROCEDURES 40
#define BYTES	   64u

/* A profile of random code in functions one behind another; some without code, some the kernel's.
 */
struct subject {
	struct annotate_subject names;
	struct cycles *cycles;
	uint32_t *positions;
	uint64_t samples; /* of time */
};

static void subject_release(struct subject *subject)
{
	free(subject->positions);
	cycles_free(subject->cycles);
	annotate_subject_release(&subject->names);
}

static struct profile *make_profile(uint64_t seed, const char *event_name, uint64_t *samples)
{
	struct profile *profile = profile_new();
	struct random_state random = random_seed(seed);
	const struct profile_source source = { .machine = span_of_text("x86_64") };
	const struct profile_image file = { .kind = IMAGE_FILE, .build_id = { "\x01\x02", 2 } };
	const struct profile_image kernel = { .kind = IMAGE_KERNEL, .build_id = { "\x03\x04", 2 } };
	bool clock = strcmp(event_name, "cpu-clock") == 0;
	const struct profile_event event = { .name = span_of_text(event_name),
					     .unit = span_of_text(clock ? "ns" : "cycles"),
					     .clock = clock ? EVENT_CLOCK : EVENT_COUNTED,
					     .policy = PERIOD_FIXED,
					     .period = PERIOD,
					     .sampled = 1 };
	uint32_t image, text, time;
	assert_non_null(profile);
	assert_int_equal(profile_add_source(profile, &source), 0);
	assert_int_equal(profile_add_image(profile, &file, &image), 0);
	assert_int_equal(profile_add_image(profile, &kernel, &text), 0);
	assert_int_equal(profile_add_event(profile, &event, &time), 0);
	*samples = 0;
	for (unsigned p = 0; p < PROCEDURES; p++) {
		uint64_t first = 0x1000 + p * BYTES;
		uint8_t code[BYTES];
		char name[16];
		for (size_t i = 0; i < BYTES; i++)
			code[i] = random_below(&random, 3)
					  ? (uint8_t)random_u64(&random)
					  : (uint8_t)(0x70 + random_below(&random, 16));
		snprintf(name, sizeof(name), "f%u", p);
		add_function(profile, image, name, first, BYTES,
			     (struct span){ code, p % 7 ? BYTES : 0 });
		for (int i = 0; i < 20; i++) {
			uint64_t count = random_below(&random, 900);
			*samples += count;
			add_samples_of_period(profile, time, image,
					      first + random_below(&random, BYTES), count, PERIOD);
		}
	}
	add_function(profile, text, "_raw_spin_unlock_irqrestore", 0x1000, BYTES,
		     (struct span){ NULL, 0 });
	add_function(profile, text, "default_idle", 0x2000, BYTES, (struct span){ NULL, 0 });
	add_samples_of_period(profile, time, text, 0x1010, 300, PERIOD);
	add_samples_of_period(profile, time, text, 0x2010, 5000, PERIOD);
	*samples += 300;
	return profile;
}

static void subject_init(struct subject *subject, uint64_t seed, const char *event,
			 const char *pipeline)
{
	const struct cycles_options options = { .pipeline = pipeline };
	struct error err = { 0 };
	annotate_subject_init(&subject->names, make_profile(seed, event, &subject->samples));
	if (cycles_new(subject->names.index, &options, &subject->cycles, &err) < 0)
		fail_msg("%s", err.text);
	subject->positions = calloc(subject->names.index->count + 1, sizeof(uint32_t));
	for (size_t i = 0; i < subject->names.index->count; i++)
		subject->positions[i] = (uint32_t)i;
}

static struct summary *summary_of(const struct subject *subject, size_t worst)
{
	const struct summary_options options = { .worst = worst };
	struct summary *summary = NULL;
	struct error err;
	if (summary_new(subject->cycles, subject->positions, subject->names.index->count, &options,
			&summary, &err) < 0)
		fail_msg("%s", err.text);
	return summary;
}

static void all_rows_are_the_whole(void **state)
{
	(void)state;
	static const char *const pipelines[] = { "zen5", "generic-in-order", "cortex-a53" };
	for (uint64_t seed = 1; seed <= 12; seed++) {
		CLEANUP(subject_release) struct subject subject = { 0 };
		const char *event = seed % 2 ? "cycles" : "cpu-clock";
		subject_init(&subject, seed, event, pipelines[seed % 3]);
		CLEANUP(summary_freep) struct summary *summary = summary_of(&subject, 0);
		double total = (double)subject.samples * PERIOD;
		assert_true(fabs(summary->total - total) <= 1e-9 * total);
		assert_true(fabs(summary_tallied(summary) - total) <= 1e-6 * total);
		assert_true(summary->samples == (double)subject.samples);
		assert_true(summary->idle_cycles == 5000 * PERIOD);
		/* 1 of 7 has no code, and the kernel's own. */
		assert_int_equal(summary->unknown_procedures, 6 + (seed % 2));
		/* Interrupts that come when they are let: a clock's alone. */
		assert_true(summary->late_cycles == (seed % 2 ? 0 : 300 * PERIOD));
		double low = 0, high = 0;
		for (enum dynamic_cause cause = 0; cause < DYNAMIC_CAUSES; cause++) {
			assert_true(summary->dynamics[cause].low <= summary->dynamics[cause].high);
			low += summary->dynamics[cause].low;
			high += summary->dynamics[cause].high;
		}
		assert_true(low <= summary->dynamic_cycles * (1 + 1e-9));
		assert_true(high >= summary->dynamic_cycles * (1 - 1e-9));
		assert_int_equal(summary->worst_count, 0);
	}
}

static void the_worst_stalls_come_first_however_many_are_asked_for(void **state)
{
	(void)state;
	CLEANUP(subject_release) struct subject subject = { 0 };
	subject_init(&subject, 5, "cycles", "generic-in-order");
	CLEANUP(summary_freep) struct summary *all = summary_of(&subject, 1000);
	assert_in_range(all->worst_count, 30, 999);
	for (size_t i = 1; i < all->worst_count; i++)
		assert_true(all->worst[i - 1].cycles >= all->worst[i].cycles);
	CLEANUP(summary_freep) struct summary *unlimited = summary_of(&subject, SIZE_MAX);
	assert_int_equal(unlimited->worst_count, all->worst_count);
	double sum = 0;
	for (size_t i = 0; i < all->worst_count; i++)
		sum += all->worst[i].cycles;
	assert_true(fabs(sum - all->stalls) <= 1e-9 * sum);
	for (size_t limit = 1; limit < 30; limit += 7) {
		CLEANUP(summary_freep) struct summary *some = summary_of(&subject, limit);
		assert_int_equal(some->worst_count, limit);
		for (size_t i = 0; i < limit; i++) {
			assert_int_equal(some->worst[i].vaddr, all->worst[i].vaddr);
			assert_true(some->worst[i].code[0] != '\0');
		}
	}
}

static void without_an_event_of_time_there_is_no_answer(void **state)
{
	(void)state;
	CLEANUP(subject_release) struct subject subject = { 0 };
	subject_init(&subject, 3, "instructions", "zen5");
	const struct summary_options options = { .worst = 1 };
	struct summary *summary = NULL;
	struct error err;
	assert_int_equal(
		summary_new(subject.cycles, subject.positions, 1, &options, &summary, &err),
		-ENODATA);
	assert_null(summary);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_rows_are_the_whole),
		cmocka_unit_test(the_worst_stalls_come_first_however_many_are_asked_for),
		cmocka_unit_test(without_an_event_of_time_there_is_no_answer),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
