#include "support/test_profile.h"

#include <stdlib.h>
#include <string.h>

static void must(int ret)
{
	if (ret < 0)
		abort();
}

struct test_profile test_profile_new(void)
{
	struct test_profile test = { .profile = profile_new() };
	if (!test.profile)
		abort();
	return test;
}

uint32_t test_event_full(struct test_profile *test, const struct profile_event *event)
{
	must(profile_add_event(test->profile, event, &test->event));
	return test->event;
}

uint32_t test_event(struct test_profile *test, const char *name, uint64_t period)
{
	struct profile_event event = { .name = span_of_text(name),
				       .unit = span_of_text("events"),
				       .policy = PERIOD_FIXED,
				       .period = period,
				       .sampled = 1 };
	return test_event_full(test, &event);
}

uint32_t test_context(struct test_profile *test, const struct profile_context *context)
{
	must(profile_add_context(test->profile, context, &test->context));
	return test->context;
}

uint32_t test_image_full(struct test_profile *test, const struct profile_image *image)
{
	must(profile_add_image(test->profile, image, &test->image));
	return test->image;
}

uint32_t test_image(struct test_profile *test, enum image_kind kind, const char *name,
		    const char *build_id)
{
	struct profile_image image = { .kind = kind,
				       .build_id = span_of_text(build_id),
				       .name = span_of_text(build_id ? NULL : name) };
	test_image_full(test, &image);
	if (build_id)
		must(profile_add_path(test->profile, test->image, span_of_text(name)));
	return test->image;
}

struct cell test_cell(uint64_t samples, uint64_t weight)
{
	return (struct cell){ samples, samples * weight,
			      (unsigned __int128)samples * weight * weight };
}

void test_flat_cell(struct test_profile *test, const char *procedure, const struct cell *cell)
{
	struct profile_frame leaf = { .image = test->image };
	must(profile_add_text(test->profile, procedure, &leaf.name));
	must(profile_add_flat(test->profile, test->event, test->context, &leaf, cell));
}

void test_flat(struct test_profile *test, const char *procedure, uint64_t samples, uint64_t weight)
{
	struct cell cell = test_cell(samples, weight);
	test_flat_cell(test, procedure, &cell);
}

void test_address(struct test_profile *test, uint64_t vaddr, uint64_t samples, uint64_t weight)
{
	struct profile_frame leaf = { .image = test->image, .vaddr = vaddr };
	struct cell cell = test_cell(samples, weight);
	must(profile_add_flat(test->profile, test->event, test->context, &leaf, &cell));
}

void test_stack(struct test_profile *test, const char *stack, uint64_t samples, uint64_t weight)
{
	uint32_t node = 0;
	struct profile_frame frame = { .image = test->image };
	for (const char *at = stack;; at++) {
		size_t size = strcspn(at, ";");
		must(profile_add_bytes(test->profile, (struct span){ at, size }, &frame.name));
		frame.kind = at[size] ? FRAME_RETURN : FRAME_IP;
		must(profile_add_node(test->profile, node, &frame, &node));
		at += size;
		if (!*at)
			break;
	}
	struct cell cell = test_cell(samples, weight);
	must(profile_add_stack(test->profile, test->event, test->context, node, &cell));
	must(profile_add_flat(test->profile, test->event, test->context, &frame, &cell));
}

void test_bill(struct test_profile *test, uint32_t event, const char *item, uint64_t amount)
{
	must(profile_add_bill(test->profile, event, OPTIONAL_ABSENT, item, amount));
}

void test_source(struct test_profile *test, const char *host, uint64_t cpus, uint64_t duration_ns)
{
	struct profile_source source = { .host = span_of_text(host),
					 .kernel = span_of_text("Linux 6.1.0"),
					 .machine = span_of_text("x86_64"),
					 .cpu_name = span_of_text("Testium 9000"),
					 .clock = span_of_text("monotonic"),
					 .command = span_of_text("make -j2"),
					 .tool = span_of_text("test"),
					 .cpus = cpus,
					 .start_ns = UINT64_C(1700000000000000000),
					 .duration_ns = duration_ns };
	must(profile_add_source(test->profile, &source));
}
