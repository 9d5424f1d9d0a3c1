#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/mapped_file.h"
#include "support/skip.h"

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

/* What is mapped of our files. */
static uint64_t mapped_bytes(void)
{
	uint64_t sum = 0, start, end;
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "r");
	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps))
		if (strstr(line, "memfd:test") &&
		    sscanf(line, "%" SCNx64 "-%" SCNx64, &start, &end) == 2)
			sum += end - start;
	fclose(maps);
	return sum;
}

#define MB ((off_t)1 << 20)

/* `count` holes of so many bytes, after a page each. */
static int file_with_holes(unsigned count, off_t each)
{
	int fd = some_file();
	for (unsigned i = 0; i < count; i++)
		assert_int_equal(pwrite(fd, "data", 4, i * (each + 2 * 65536)), 4);
	assert_int_equal(ftruncate(fd, count * (each + 2 * 65536)), 0);
	return fd;
}

static uint64_t mapped_of(unsigned holes, off_t each)
{
	CLEANUP(close_fd) int fd = file_with_holes(holes, each);
	CLEANUP(mapped_file_close) struct mapped_file mapped;
	struct error err;
	assert_int_equal(mapped_file_open(fd, &mapped, &err), 0);
	assert_int_equal(mapped.size_bytes, holes * (each + 2 * 65536));
	assert_memory_equal((const char *)mapped.bytes + (holes - 1) * (each + 2 * 65536), "data",
			    4);
	assert_int_equal(((const char *)mapped.bytes)[mapped.size_bytes - 1], 0);
	return mapped_bytes();
}

static void large_holes_are_not_mapped_as_far_as_there_are_not_too_many(void **state)
{
	(void)state;
	assert_true(mapped_of(10, 64 * MB) <= 10 * 3 * 65536);
	assert_true(mapped_of(1024, MB) <= 1024 * 3 * 65536);
	/* Who reads these, and they count as what is there. */
	assert_true(mapped_of(1124, MB) >= 100 * MB);
	assert_true(mapped_of(10, MB / 2) >= 10 * MB / 2);
}

/* Where it is a trap, each costs a signal. */
static bool forbid_newfstatat(void)
{
	struct sock_filter steps[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_newfstatat, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { sizeof(steps) / sizeof(steps[0]), steps };
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

static void a_file_is_mapped_without_a_call_that_is_trapped(void **state)
{
	(void)state;
	CLEANUP(close_fd) int fd = some_file();
	int status;
	assert_int_equal(write(fd, "text", 4), 4);
	pid_t child = fork();
	if (child == 0) {
		struct mapped_file file;
		if (!forbid_newfstatat())
			_exit(2);
		_exit(mapped_file_open(fd, &file, NULL) == 0 && file.size_bytes == 4 ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 2)
		SKIP("no seccomp here");
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_copy_outlives_what_others_do_to_the_file),
		cmocka_unit_test(holes_cost_nothing),
		cmocka_unit_test(large_holes_are_not_mapped_as_far_as_there_are_not_too_many),
		cmocka_unit_test(a_file_is_mapped_without_a_call_that_is_trapped),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
