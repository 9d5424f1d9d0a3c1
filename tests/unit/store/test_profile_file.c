#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "profile/profile.h"
#include "store/profile_file.h"
#include "support/random_profile.h"

#define SEEDS 40

static struct buffer encoded(const struct profile *profile)
{
	struct buffer bytes = { 0 };
	struct error err = { 0 };
	if (profile_file_encode(profile, &bytes, &err) < 0)
		fail_msg("%s", err.text);
	return bytes;
}

static struct profile *decoded(const struct buffer *bytes)
{
	struct profile *profile = NULL;
	struct error err = { 0 };
	if (profile_file_decode(bytes->data, bytes->size, "t", &profile, NULL, &err) < 0)
		fail_msg("%s", err.text);
	return profile;
}

static void assert_same_bytes(const struct buffer *a, const struct buffer *b)
{
	assert_int_equal(a->size, b->size);
	assert_memory_equal(a->data, b->data, a->size);
}

static bool same_content(const struct profile *a, const struct profile *b)
{
	CLEANUP(profile_freep) struct profile *left = NULL;
	CLEANUP(profile_freep) struct profile *right = NULL;
	assert_int_equal(profile_canonical(a, &left), 0);
	assert_int_equal(profile_canonical(b, &right), 0);
	return profiles_are_identical(left, right);
}

static enum random_profile_kind kind_of(uint64_t seed)
{
	return seed % 2 ? RANDOM_WITH_STRANGERS : RANDOM_KNOWN;
}

static void write_read_write_gives_the_same_bytes(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		CLEANUP(profile_freep)
		struct profile *profile = random_profile_new(seed, kind_of(seed));
		CLEANUP(buffer_release) struct buffer first = encoded(profile);
		CLEANUP(profile_freep) struct profile *read = decoded(&first);
		assert_true(same_content(profile, read));
		CLEANUP(buffer_release) struct buffer second = encoded(read);
		assert_same_bytes(&first, &second);
	}
}

static struct profile *merged(const uint64_t *seeds, size_t count)
{
	struct profile *into = profile_new();
	struct error err = { 0 };
	for (size_t i = 0; i < count; i++) {
		CLEANUP(profile_freep)
		struct profile *one = random_profile_new(seeds[i], kind_of(seeds[i]));
		if (profile_merge(into, one, &err) < 0)
			fail_msg("%s", err.text);
	}
	return into;
}

static void merging_in_any_order_gives_the_same_bytes(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < SEEDS; seed += 3) {
		const uint64_t abc[] = { seed, seed + 1, seed + 2 };
		const uint64_t cab[] = { seed + 2, seed, seed + 1 };
		CLEANUP(profile_freep) struct profile *left = merged(abc, 3);
		CLEANUP(profile_freep) struct profile *right = merged(cab, 3);
		/* a + (b + c), through a file in between */
		CLEANUP(profile_freep) struct profile *bc = merged(abc + 1, 2);
		CLEANUP(buffer_release) struct buffer bc_bytes = encoded(bc);
		CLEANUP(profile_freep) struct profile *bc_read = decoded(&bc_bytes);
		CLEANUP(profile_freep) struct profile *nested = merged(abc, 1);
		struct error err = { 0 };
		assert_int_equal(profile_merge(nested, bc_read, &err), 0);
		CLEANUP(buffer_release) struct buffer a = encoded(left);
		CLEANUP(buffer_release) struct buffer b = encoded(right);
		CLEANUP(buffer_release) struct buffer c = encoded(nested);
		assert_same_bytes(&a, &b);
		assert_same_bytes(&a, &c);
	}
}

static void an_empty_profile_is_small(void **state)
{
	(void)state;
	CLEANUP(profile_freep) struct profile *empty = profile_new();
	CLEANUP(buffer_release) struct buffer bytes = encoded(empty);
	assert_true(bytes.size <= 16384);
	CLEANUP(profile_freep) struct profile *read = decoded(&bytes);
	assert_true(same_content(empty, read));
}

/* An error, or exactly what was written: nothing in between. Returns whether it was accepted. */
static bool refused_or_same(const uint8_t *bytes, size_t size, const struct profile *wanted)
{
	struct profile *read = NULL;
	struct error err = { 0 };
	int ret = profile_file_decode(bytes, size, "t", &read, NULL, &err);
	if (ret < 0) {
		assert_true(ret == -EBADMSG || ret == -EPROTO || ret == -EPROTONOSUPPORT);
		assert_true(strlen(err.text) > 10);
		return false;
	}
	bool same = same_content(read, wanted);
	profile_free(read);
	assert_true(same);
	return true;
}

static void a_truncated_file_is_refused_at_every_length(void **state)
{
	(void)state;
	CLEANUP(profile_freep)
	struct profile *profile = random_profile_new(7, RANDOM_WITH_STRANGERS);
	CLEANUP(buffer_release) struct buffer bytes = encoded(profile);
	for (size_t size = 0; size < bytes.size; size++)
		assert_false(refused_or_same(bytes.data, size, profile));
}

/* Bytes that a flip may change unseen: those that say nothing (docs/profile-format.md). */
static void a_flipped_byte_is_refused_or_says_nothing(void **state)
{
	(void)state;
	CLEANUP(profile_freep)
	struct profile *profile = random_profile_new(7, RANDOM_WITH_STRANGERS);
	CLEANUP(buffer_release) struct buffer bytes = encoded(profile);
	size_t unseen = 0;
	for (size_t at = 0; at < bytes.size; at++) {
		uint8_t before = bytes.data[at];
		bytes.data[at] ^= (uint8_t)(1u << (at % 8));
		unseen += refused_or_same(bytes.data, bytes.size, profile);
		bytes.data[at] = (uint8_t)~before;
		unseen += refused_or_same(bytes.data, bytes.size, profile);
		bytes.data[at] = before;
	}
	print_message("%zu of %zu flips changed nothing that is read\n", unseen, 2 * bytes.size);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(write_read_write_gives_the_same_bytes),
		cmocka_unit_test(merging_in_any_order_gives_the_same_bytes),
		cmocka_unit_test(an_empty_profile_is_small),
		cmocka_unit_test(a_truncated_file_is_refused_at_every_length),
		cmocka_unit_test(a_flipped_byte_is_refused_or_says_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
