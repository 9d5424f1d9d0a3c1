#include "culprit_story.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "base/count_of.h"
#include "base/error.h"

/* --- procedures as profiles --- */

uint32_t add_event(struct profile *profile, const char *name, uint64_t sampled)
{
	const struct profile_event event = {
		.name = span_of_text(name),
		.unit = span_of_text(sampled ? "cycles" : "events"),
		.policy = sampled ? PERIOD_FIXED : PERIOD_NONE,
		.period = sampled ? PERIOD : 0,
		.precise = sampled ? 2 : 0,
		.sampled = sampled,
	};
	uint32_t id;
	assert_int_equal(profile_add_event(profile, &event, &id), 0);
	return id;
}

void add_cell(struct profile *profile, uint32_t event, uint32_t image, uint64_t vaddr,
	      struct cell cell)
{
	const struct profile_frame leaf = { .image = image, .vaddr = vaddr };
	assert_int_equal(profile_add_flat(profile, event, 0, &leaf, &cell), 0);
}

void add_samples(struct profile *profile, uint32_t event, uint32_t image, uint64_t vaddr,
		 uint64_t samples)
{
	add_samples_of_period(profile, event, image, vaddr, samples, PERIOD);
}

void subject_release(struct subject *subject)
{
	culprits_free(subject->culprits);
	procedure_cycles_free(subject->procedure);
	cycles_free(subject->cycles);
	annotate_subject_release(&subject->names);
}

const struct profile_event clock_event = {
	.name = { "cpu-clock", 9 },
	.unit = { "ns", 2 },
	.clock = EVENT_CLOCK,
	.policy = PERIOD_FIXED,
	.period = PERIOD,
	.sampled = 1,
};

void subject_init(struct subject *subject, struct profile *profile, const char *pipeline)
{
	const struct cycles_options options = { .pipeline = pipeline };
	struct error err = { 0 };
	annotate_subject_init(&subject->names, profile);
	const struct culprit_events events = culprit_events_of(&subject->names.columns);
	if (cycles_new(subject->names.index, &options, &subject->cycles, &err) < 0 ||
	    cycles_of_procedure(subject->cycles, 0, &subject->procedure, &err) < 0 ||
	    culprits_new(subject->procedure, &subject->names.columns, &events, &subject->culprits,
			 &err) < 0)
		fail_msg("%s", err.text);
}

struct procedure_cycles *schedule_of_code(struct subject *subject, const struct story *story,
					  const char *pipeline)
{
	uint32_t image;
	struct profile *profile = profile_of_code("f", FIRST, story->code, story->size, &image);
	add_samples(profile, add_event(profile, "cycles", 1), image, FIRST, 1);
	subject_init(subject, profile, pipeline);
	return subject->procedure;
}

void tell(struct subject *subject, const struct story *story)
{
	CLEANUP(subject_release) struct subject scheduled = { 0 };
	const struct procedure_cycles *plan =
		schedule_of_code(&scheduled, story, "generic-in-order");
	uint32_t image;
	struct profile *profile = profile_of_code("f", FIRST, story->code, story->size, &image);
	uint32_t cycles = add_event(profile, "cycles", 1);
	for (uint32_t i = 0; i < plan->cfg.instruction_count; i++) {
		double executed = story->executed[i] > 0 ? story->executed[i] : EXECUTIONS;
		double each = plan->schedule[i].head_cycles + story->stall[i];
		add_samples(profile, cycles, image, plan->cfg.instructions[i].vaddr,
			    (uint64_t)(executed * each / PERIOD));
	}
	for (size_t e = 0; e < COUNT_OF(story->event) && story->event[e]; e++) {
		uint32_t event = add_event(profile, story->event[e], 0);
		for (uint32_t i = 0; i < plan->cfg.instruction_count; i++)
			if (story->counted[e][i] > 0)
				add_cell(profile, event, image, plan->cfg.instructions[i].vaddr,
					 (struct cell){ 0, (uint64_t)story->counted[e][i], 0 });
		/* One that is somewhere: the event is known even where it never happened. */
		add_cell(profile, event, image, 0x100000, (struct cell){ 0, 1, 0 });
	}
	if (story->elsewhere) {
		const struct profile_event event = {
			.name = span_of_text(story->elsewhere),
			.unit = { "events", 6 },
			.policy = PERIOD_FREQUENCY,
			.period = 4000,
			.precise = 2,
			.sampled = 1,
		};
		uint32_t id;
		uint64_t samples = story->elsewhere_samples;
		assert_int_equal(profile_add_event(profile, &event, &id), 0);
		add_cell(profile, id, image, 0x100000,
			 (struct cell){ samples, samples ? samples * 1000000 : 1, 0 });
	}
	subject_init(subject, profile, "generic-in-order");
}

void tell_clock(struct subject *subject, const struct story *story, const uint64_t *samples)
{
	CLEANUP(subject_release) struct subject decoded = { 0 };
	const struct procedure_cycles *plan = schedule_of_code(&decoded, story, "zen5");
	uint32_t image, clock;
	struct profile *profile = profile_of_code("f", FIRST, story->code, story->size, &image);
	assert_int_equal(profile_add_event(profile, &clock_event, &clock), 0);
	for (uint32_t i = 0; i < plan->cfg.instruction_count; i++)
		if (samples[i])
			add_samples(profile, clock, image, plan->cfg.instructions[i].vaddr,
				    samples[i]);
	subject_init(subject, profile, "zen5");
}

/* --- what is found --- */

const struct stall *stall_at(const struct subject *subject, uint32_t instruction)
{
	return &subject->culprits->stalls[instruction];
}

const struct culprit *find_culprit(const struct subject *subject, uint32_t instruction,
				   enum dynamic_cause cause)
{
	const struct stall *stall = stall_at(subject, instruction);
	for (uint32_t c = 0; c < stall->culprit_count; c++)
		if (subject->culprits->list[stall->culprits + c].cause == cause)
			return &subject->culprits->list[stall->culprits + c];
	return NULL;
}

const struct culprit *first_culprit(const struct subject *subject, uint32_t instruction)
{
	assert_true(stall_at(subject, instruction)->culprit_count > 0);
	return &subject->culprits->list[stall_at(subject, instruction)->culprits];
}

void expect_near(double value, double wanted, double ratio)
{
	if (!(fabs(value - wanted) <= ratio * fabs(wanted)))
		fail_msg("%g is not within %g %% of %g", value, 100 * ratio, wanted);
}

void expect_listed(const struct subject *subject, uint32_t instruction, enum dynamic_cause cause,
		   uint32_t blamed, double high)
{
	const struct culprit *culprit = find_culprit(subject, instruction, cause);
	if (!culprit)
		fail_msg("%s is not listed at instruction %u", dynamic_cause_text(cause),
			 instruction);
	assert_int_equal(culprit->instruction, blamed);
	/* Bounds are by the most that executions can be. */
	expect_near(culprit->high, high * EXECUTIONS, 0.12);
}

void expect_cleared(const struct subject *subject, uint32_t instruction, enum dynamic_cause cause)
{
	if (!(stall_at(subject, instruction)->dynamic_cycles > 0))
		fail_msg("instruction %u did not stall", instruction);
	if (find_culprit(subject, instruction, cause))
		fail_msg("%s is listed at instruction %u", dynamic_cause_text(cause), instruction);
}

void expect_only(const struct subject *subject, uint32_t instruction, enum dynamic_cause cause)
{
	for (enum dynamic_cause other = 0; other < DYNAMIC_CAUSES; other++)
		if (other != cause)
			expect_cleared(subject, instruction, other);
	assert_non_null(find_culprit(subject, instruction, cause));
}

void check_sums(const struct subject *subject)
{
	const struct procedure_cycles *procedure = subject->procedure;
	for (uint32_t i = 0; i < procedure->cfg.instruction_count; i++) {
		const struct stall *stall = stall_at(subject, i);
		double cycles = procedure->instructions[i].cycles, low = 0, high = 0;
		if (isnan(stall->issue_cycles)) {
			assert_true(isnan(procedure->instructions[i].best_cycles));
			continue;
		}
		double sum_of_parts = stall->issue_cycles + stall->static_cycles +
				      stall->dynamic_cycles + stall->noise_cycles;
		assert_true(fabs(sum_of_parts - cycles) <= 1e-9 * (cycles + PERIOD));
		assert_true(stall->issue_cycles >= 0 && stall->static_cycles >= 0);
		for (uint32_t c = 0; c < stall->culprit_count; c++) {
			const struct culprit *culprit =
				&subject->culprits->list[stall->culprits + c];
			assert_true(culprit->low >= 0 && culprit->low <= culprit->high);
			assert_true(culprit->high <= stall->most_cycles * (1 + 1e-9));
			assert_true(culprit->instruction == CULPRIT_NO_INSTRUCTION ||
				    culprit->instruction < procedure->cfg.instruction_count);
			low += culprit->low;
			high += culprit->high;
		}
		double left = fmax(0, stall->dynamic_cycles);
		assert_true(low + stall->unexplained_cycles <= left * (1 + 1e-9));
		assert_true(high + stall->unexplained_cycles >= left * (1 - 1e-9));
	}
}
