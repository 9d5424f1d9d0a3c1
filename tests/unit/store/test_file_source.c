/* What a file's holes are worth. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "profile/profile.h"
#include "store/file_source.h"
#include "store/profile_file.h"
#include "store/profile_writer.h"
#include "support/random_profile.h"
#include "support/temporary_folder.h"

/* A profile of so many bytes, nearly all of them a hole, that its header speaks of. Returns what
 * is there. */
static uint64_t make_hollow(const char *path, uint32_t size)
{
	struct error err;
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	CLEANUP(profile_freep) struct profile *profile = random_profile_new(1, RANDOM_KNOWN);
	assert_int_equal(profile_file_encode(profile, &bytes, &err), 0);
	uint32_t pages = size / PROFILE_FORMAT_PAGE_BYTES;
	for (int i = 0; i < 4; i++)
		bytes.data[28 + i] = (uint8_t)(pages >> (24 - 8 * i));
	CLEANUP(close_fd) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_int_equal(write(fd, bytes.data, bytes.size), bytes.size);
	assert_int_equal(ftruncate(fd, size), 0);
	return bytes.size;
}

static void a_hole_allows_nothing_to_unpack(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
	const char *path = temporary_folder_path(&folder, "p");
	struct error err;
	CLEANUP(file_source_close) struct file_source source = { 0 };
	uint64_t there = make_hollow(path, 20u << 20);
	assert_int_equal(file_source_open(&source, path, &err), 0);
	assert_int_equal(source.file_bytes, 20u << 20);
	assert_true(source.content_bytes <= there);
	assert_true(source.content_bytes >= there / 2);
}

static void a_file_that_is_all_hole_is_refused_before_it_is_in_memory(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
	const char *path = temporary_folder_path(&folder, "p");
	struct rusage before, after;
	struct error err;
	CLEANUP(file_source_close) struct file_source source = { 0 };
	make_hollow(path, 1u << 30);
	getrusage(RUSAGE_SELF, &before);
	assert_int_equal(file_source_open(&source, path, &err), -EBADMSG);
	getrusage(RUSAGE_SELF, &after);
	assert_non_null(strstr(err.text, "most of it is empty"));
	assert_true(after.ru_maxrss - before.ru_maxrss < 200 << 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_hole_allows_nothing_to_unpack),
		cmocka_unit_test(a_file_that_is_all_hole_is_refused_before_it_is_in_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
