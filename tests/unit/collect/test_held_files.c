#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "collect/held_files.h"
#include "symbol/reader.h"

#define MB UINT64_C(1048576)

static void only_what_lies_on_our_own_root_is_harmless(void **state)
{
	(void)state;
	struct held_files held;
	held_files_init(&held, NULL);
	CLEANUP(close_fd) int root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CLEANUP(close_fd) int other = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	CLEANUP(close_fd) int memory = memfd_create("test", MFD_CLOEXEC);
	assert_true(held_files_harmless(&held, root));
	assert_false(held_files_harmless(&held, other));
	assert_false(held_files_harmless(&held, memory));
	assert_false(held_files_harmless(&held, -1));
	held.root_mount = 0; /* not known */
	assert_false(held_files_harmless(&held, root));
}

static void copies_stay_within_their_budget(void **state)
{
	(void)state;
	struct held_files held = { 0 };
	assert_true(held_files_room(&held, COPY_MOST_BYTES, false));
	assert_false(held_files_room(&held, COPY_MOST_BYTES + 1, false));
	assert_true(held_files_room(&held, COPY_MOST_BYTES, true));
	held_files_count(&held, 31 * MB);
	assert_true(held_files_room(&held, 1 * MB, true));
	assert_false(held_files_room(&held, 1 * MB + 1, true));
	assert_true(held_files_room(&held, 32 * MB, false));
	held_files_count(&held, 32 * MB);
	assert_false(held_files_room(&held, 1, true));
	assert_true(held_files_room(&held, 1 * MB, false));
	assert_false(held_files_room(&held, 1 * MB + 1, false));
	held_files_drop(&held, 32 * MB);
	held_files_drop(&held, 31 * MB);
	assert_int_equal(held.copied_bytes, 0);
	assert_int_equal(held.copied_most_bytes, 63 * MB);
	/* Each costs a descriptor, however small it is. */
	for (unsigned i = 0; i < COPIES_MOST; i++) {
		assert_true(held_files_room(&held, 0, true));
		held_files_count(&held, 0);
	}
	assert_false(held_files_room(&held, 0, true));
}

static void a_copy_outlives_its_file(void **state)
{
	(void)state;
	CLEANUP(reader_freep) struct reader *reader = NULL;
	struct held_files held;
	uint64_t size_bytes;
	char text[8];
	assert_int_equal(reader_new(NULL, &reader, NULL), 0);
	held_files_init(&held, reader);
	int fd = memfd_create("test", MFD_CLOEXEC);
	assert_int_equal(write(fd, "content", 7), 7);
	CLEANUP(close_fd) int copy = held_files_copy(&held, fd, false, &size_bytes);
	assert_true(copy >= 0);
	assert_int_equal(ftruncate(fd, 0), 0);
	close(fd);
	assert_int_equal(size_bytes, 7);
	assert_int_equal(held.copied_bytes, 7);
	assert_int_equal(pread(copy, text, sizeof(text), 0), 7);
	assert_memory_equal(text, "content", 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_what_lies_on_our_own_root_is_harmless),
		cmocka_unit_test(copies_stay_within_their_budget),
		cmocka_unit_test(a_copy_outlives_its_file),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
