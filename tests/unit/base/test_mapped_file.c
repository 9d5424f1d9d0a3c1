#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/mapped_file.h"

static int some_file(void)
{
	int fd = memfd_create("test", MFD_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static void a_copy_outlives_what_others_do_to_the_file(void **state)
{
	(void)state;
	CLEANUP(close_fd) int fd = some_file();
	char page[4096];
	struct error err;
	memset(page, 'x', sizeof(page));
	for (int i = 0; i < 4; i++)
		assert_int_equal(write(fd, page, sizeof(page)), sizeof(page));
	CLEANUP(mapped_file_close) struct mapped_file copy;
	assert_int_equal(mapped_file_copy(fd, &copy, &err), 0);
	assert_int_equal(copy.size_bytes, 4 * sizeof(page));
	assert_int_equal(ftruncate(fd, 0), 0);
	for (size_t i = 0; i < copy.size_bytes; i++)
		assert_int_equal(((const char *)copy.bytes)[i], 'x');
}

static long resident_kb(void)
{
	struct rusage usage;
	assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
	return usage.ru_maxrss;
}

static void holes_cost_nothing(void **state)
{
	(void)state;
	CLEANUP(close_fd) int fd = some_file();
	const off_t far = (off_t)3 << 30;
	struct error err;
	long before_kb = resident_kb();
	assert_int_equal(pwrite(fd, "begin", 5, 0), 5);
	assert_int_equal(pwrite(fd, "end", 3, far), 3);
	CLEANUP(mapped_file_close) struct mapped_file copy;
	assert_int_equal(mapped_file_copy(fd, &copy, &err), 0);
	assert_int_equal(copy.size_bytes, far + 3);
	assert_memory_equal(copy.bytes, "begin", 5);
	assert_memory_equal((const char *)copy.bytes + far, "end", 3);
	assert_int_equal(((const char *)copy.bytes)[far / 2], 0);
	assert_true(resident_kb() - before_kb < 65536);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_copy_outlives_what_others_do_to_the_file),
		cmocka_unit_test(holes_cost_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
