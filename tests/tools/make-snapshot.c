/*
 * make-snapshot - writes what a daemon's snapshot may hold: procedures, each in a file of its own,
 * with so many samples, names and a piece of code.
 *
 * usage: make-snapshot FILE EPOCH SECONDS [stacks=N] NAME=SAMPLES...
 *
 * stacks=N: N different stacks, too, of a sample each.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/number.h"
#include "profile/stash.h"
#include "store/profile_file.h"
#include "support/test_profile.h"

#define MS    UINT64_C(1000000)
#define FIRST 0x1000 /* where each procedure begins */

static void must(int ret)
{
	if (ret < 0)
		abort();
}

static void put(struct test_profile *test, uint64_t kind, const struct buffer *content, size_t size)
{
	const struct record record = {
		kind, FIRST, FIRST + size - 1, { content->data, content->size }
	};
	struct error err;
	must(stash_add(test->profile, test->image, &record, &err));
}

static void add_procedure(struct test_profile *test, const char *name, uint64_t samples)
{
	static const uint8_t code[] = { 0x90, 0x90, 0x90, 0xc3 }; /* nop, nop, nop, ret */
	const struct function_record row = { 0, 0, span_of_text(name) };
	struct buffer function = { 0 }, bytes = { 0 };
	char path[256];
	snprintf(path, sizeof(path), "/opt/no/%s", name);
	test_image(test, IMAGE_FILE, path, name);
	test_address(test, FIRST + 1, samples, MS);
	record_put_function(&function, FIRST, &row);
	record_put_code(&bytes, (struct span){ code, sizeof(code) });
	put(test, RECORD_FUNCTION, &function, sizeof(code));
	put(test, RECORD_CODE, &bytes, sizeof(code));
	buffer_release(&function);
	buffer_release(&bytes);
}

static void add_stacks(struct test_profile *test, uint64_t count)
{
	char stack[64];
	test_image(test, IMAGE_NAME, "many", NULL);
	for (uint64_t i = 0; i < count; i++) {
		snprintf(stack, sizeof(stack), "main;caller%llu;work", (unsigned long long)i);
		test_stack(test, stack, 1, MS);
	}
}

static void begin(struct test_profile *test, uint64_t epoch, uint64_t seconds)
{
	const struct profile_source source = { .host = span_of_text("host"),
					       .machine = span_of_text("x86_64"),
					       .cpus = 1,
					       .epoch = epoch,
					       .duration_ns = 1000 * seconds * MS };
	const struct profile_event clock = { .name = span_of_text("cpu-clock"),
					     .unit = span_of_text("ns"),
					     .clock = EVENT_CLOCK,
					     .policy = PERIOD_FIXED,
					     .period = MS,
					     .sampled = 1 };
	const struct profile_context context = { .comm = span_of_text("program") };
	must(profile_add_source(test->profile, &source));
	test_event_full(test, &clock);
	test_context(test, &context);
}

int main(int argc, char **argv)
{
	struct test_profile test = test_profile_new();
	struct error err;
	uint64_t epoch, seconds, number;
	if (argc < 4 || !number_parse_u64(argv[2], &epoch) || !number_parse_u64(argv[3], &seconds))
		return 2;
	begin(&test, epoch, seconds);
	for (int i = 4; i < argc; i++) {
		char *value = strchr(argv[i], '=');
		if (!value || !number_parse_u64(value + 1, &number))
			return 2;
		*value = 0;
		if (strcmp(argv[i], "stacks") == 0)
			add_stacks(&test, number);
		else
			add_procedure(&test, argv[i], number);
	}
	if (profile_file_write(argv[1], test.profile, &err) < 0) {
		fprintf(stderr, "make-snapshot: %s\n", err.text);
		return 1;
	}
	profile_free(test.profile);
	return 0;
}
