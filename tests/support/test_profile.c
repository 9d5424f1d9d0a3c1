#include "support/test_profile.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "profile/stash.h"

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

void test_stack_address(struct test_profile *test, uint64_t vaddr, uint64_t samples,
			uint64_t weight)
{
	struct profile_frame leaf = { .image = test->image, .vaddr = vaddr };
	struct cell cell = test_cell(samples, weight);
	uint32_t node;
	must(profile_add_node(test->profile, 0, &leaf, &node));
	must(profile_add_stack(test->profile, test->event, test->context, node, &cell));
	test_address(test, vaddr, samples, weight);
}

static void add_record(struct test_profile *test, uint64_t kind, uint64_t first, uint64_t last,
		       struct buffer *content)
{
	struct record record = { kind, first, last, { content->data, content->size } };
	must(buffer_failed(content) ? -1 : stash_add(test->profile, test->image, &record, NULL));
	buffer_release(content);
}

void test_inlined_code(struct test_profile *test)
{
	test_image(test, IMAGE_FILE, "/bin/app", "\1\2\3\4");
	struct buffer content = { 0 };
	struct function_record function = { .name = span_of_text("outer") };
	record_put_function(&content, 0x100, &function);
	add_record(test, RECORD_FUNCTION, 0x100, 0x1ff, &content);
	struct lines_writer writer;
	lines_writer_init(&writer, 0x100);
	struct span file = span_of_text("app.c");
	lines_writer_row(&writer, 0x100, 0, file, 10);
	uint32_t inner = lines_writer_inline(&writer, 0, span_of_text("inner"), file, 12);
	lines_writer_row(&writer, 0x140, inner, file, 3);
	content = (struct buffer){ 0 };
	must(lines_writer_finish(&writer, &content));
	lines_writer_release(&writer);
	add_record(test, RECORD_LINES, 0x100, 0x1ff, &content);
}

void test_bill(struct test_profile *test, uint32_t event, const char *item, uint64_t amount)
{
	must(profile_add_bill(test->profile, event, OPTIONAL_ABSENT, item, amount));
}

int64_t test_billed(const struct profile *profile, const char *item)
{
	const struct table *bill = profile_table(profile, PROFILE_BILL);
	int64_t sum = -1;
	for (size_t row = 0; row < bill->count; row++)
		if (span_equal(profile_bytes(profile, table_keys(bill, row)[BILL_ITEM]),
			       span_of_text(item)))
			sum = (sum < 0 ? 0 : sum) + (int64_t)table_values(bill, row)[0];
	return sum;
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
