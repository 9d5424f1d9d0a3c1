/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <stdlib.h>
#include <string.h>

#include "analyze/compare/annotate_diff.h"
#include "annotate_subject.h"
#include "base/error.h"
#include "base/random.h"
#include "profile/stash.h"

/* A function of that name and code at `first`, with samples at random addresses of it. */
static struct profile *with_code(uint64_t seed, const char *build_id, const char *name,
				 uint64_t first, const uint8_t *bytes, size_t size)
{
	struct random_state random = random_seed(seed);
	struct profile *profile = profile_new();
	uint32_t event, image;
	const struct profile_source source = { .machine = span_of_text("x86_64") };
	const struct profile_image file = { .kind = IMAGE_FILE,
					    .build_id = span_of_text(build_id) };
	const struct profile_event cycles = { .name = span_of_text("cycles"), .sampled = 1 };
	assert_non_null(profile);
	assert_int_equal(profile_add_event(profile, &cycles, &event), 0);
	assert_int_equal(profile_add_source(profile, &source), 0);
	assert_int_equal(profile_add_image(profile, &file, &image), 0);
	add_function(profile, image, name, first, size, (struct span){ bytes, size });
	for (int i = 0; i < 60; i++) {
		const struct profile_frame leaf = { .image = image,
						    .vaddr = first + random_below(&random, size) };
		uint64_t samples = 1 + random_below(&random, 9);
		const struct cell cell = { samples, samples * 7, samples * 49 };
		assert_int_equal(profile_add_flat(profile, event, 0, &leaf, &cell), 0);
	}
	return profile;
}

static void random_bytes(struct random_state *random, uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		bytes[i] = (uint8_t)random_u64(random);
}

static struct annotation_diff *compare(const struct annotate_subject *before,
				       const struct annotate_subject *after)
{
	static const struct annotate_diff_options options = { .base = DIFFERENCE_RAW };
	struct annotation_diff *diff = NULL;
	struct error err;
	if (annotate_diff(before->index, after->index, 0, &options, &diff, &err) < 0)
		fail_msg("%s", err.text);
	return diff;
}

/* Each row of both versions once, in order; the rows' samples are the procedures'. */
static void expect_tally(const struct annotation_diff *diff)
{
	struct cell before = { 0 }, after = { 0 };
	size_t left = 0, right = 0;
	for (size_t i = 0; i < diff->row_count; i++) {
		const struct annotate_diff_row *row = &diff->rows[i];
		assert_true(row->before || row->after);
		if (row->before)
			assert_ptr_equal(row->before, &diff->before->rows[left++]);
		if (row->after)
			assert_ptr_equal(row->after, &diff->after->rows[right++]);
		cell_add(&before, &row->changes[0].before);
		cell_add(&after, &row->changes[0].after);
	}
	assert_int_equal(right, diff->after->row_count);
	assert_memory_equal(&after, &diff->after->procedure->cells[0], sizeof(after));
	assert_int_equal(left, diff->before ? diff->before->row_count : 0);
	if (diff->before)
		assert_memory_equal(&before, &diff->before->procedure->cells[0], sizeof(before));
}

static void expect_match(const char *build_id, const char *name, uint64_t first,
			 const uint8_t *bytes, size_t size, enum annotate_match match,
			 const uint8_t *old_bytes, size_t old_size)
{
	struct annotate_subject before, after;
	annotate_subject_init(&before,
			      with_code(1, "\x01\x02", "work.isra.0", 0x1000, old_bytes, old_size));
	annotate_subject_init(&after, with_code(2, build_id, name, first, bytes, size));
	struct annotation_diff *diff = compare(&before, &after);
	if (diff->match != match)
		fail_msg("matched by %s, not %s", annotate_match_names[diff->match],
			 annotate_match_names[match]);
	expect_tally(diff);
	annotation_diff_free(diff);
	annotate_subject_release(&before);
	annotate_subject_release(&after);
}

static void versions_are_found_by_build_code_or_name(void **state)
{
	(void)state;
	struct random_state random = random_seed(3);
	uint8_t bytes[64], other[70];
	random_bytes(&random, bytes, sizeof(bytes));
	random_bytes(&random, other, sizeof(other));
	expect_match("\x01\x02", "work.isra.0", 0x1000, bytes, 64, ANNOTATE_MATCH_BUILD, bytes, 64);
	expect_match("\x03", "work.isra.5", 0x1000, bytes, 64, ANNOTATE_MATCH_CODE, bytes, 64);
	expect_match("\x03", "work", 0x2000, other, 70, ANNOTATE_MATCH_NAME, bytes, 64);
	expect_match("\x03", "job", 0x1000, bytes, 64, ANNOTATE_MATCH_CODE_ALONE, bytes, 64);
	expect_match("\x03", "job", 0x1000, other, 64, ANNOTATE_MATCH_NONE, bytes, 64);
	expect_match("\x03", "job", 0x1000, bytes, 16, ANNOTATE_MATCH_NONE, bytes, 16);
}

/* mov 0x...(%rip),%rax; call; ret, with the two displacements as given. */
static void put_code(uint8_t *bytes, uint32_t data, uint32_t callee)
{
	static const uint8_t frame[] = { 0x48, 0x8b, 0x05, 0, 0, 0, 0, 0xe8, 0, 0, 0, 0 };
	memset(bytes, 0x90, 40);
	memcpy(bytes, frame, sizeof(frame));
	memcpy(bytes + 3, &data, 4);
	memcpy(bytes + 8, &callee, 4);
	bytes[39] = 0xc3;
}

static void displacements_do_not_tell_code_apart(void **state)
{
	(void)state;
	uint8_t a[40], b[40];
	put_code(a, 0x1234, 0x2000);
	put_code(b, 0xfffff000, 0x5000); /* data before the code now, another distance to call */
	expect_match("\x03", "work.isra.0", 0x7000, b, 40, ANNOTATE_MATCH_CODE, a, 40);
	b[20] = 0xf3; /* pause for nop, nop */
	expect_match("\x03", "work.isra.0", 0x7000, b, 40, ANNOTATE_MATCH_NAME, a, 40);
}

static void no_sample_is_lost_whatever_the_code(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 100; seed++) {
		struct random_state random = random_seed(seed);
		uint8_t old_bytes[200], bytes[230];
		random_bytes(&random, old_bytes, sizeof(old_bytes));
		size_t cut = random_below(&random, sizeof(old_bytes));
		memcpy(bytes, old_bytes, cut); /* something put in between */
		random_bytes(&random, bytes + cut, 30);
		memcpy(bytes + cut + 30, old_bytes + cut, sizeof(old_bytes) - cut);
		expect_match("\x03", "work", 0x4000, bytes, sizeof(bytes), ANNOTATE_MATCH_NAME,
			     old_bytes, sizeof(old_bytes));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(versions_are_found_by_build_code_or_name),
		cmocka_unit_test(displacements_do_not_tell_code_apart),
		cmocka_unit_test(no_sample_is_lost_whatever_the_code),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
