#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "symbol/file_inode.h"
#include "support/skip.h"

#define NS_PER_S UINT64_C(1000000000)

static uint64_t ns_of(const struct timespec *time)
{
	return (uint64_t)time->tv_sec * NS_PER_S + (uint64_t)time->tv_nsec;
}

static uint64_t written_ns(int fd)
{
	struct stat info;
	assert_int_equal(fstat(fd, &info), 0);
	return ns_of(&info.st_mtim);
}

static uint64_t changed_ns(int fd)
{
	struct stat info;
	assert_int_equal(fstat(fd, &info), 0);
	return ns_of(&info.st_ctim);
}

static struct binary_inode inode_of(int fd)
{
	struct stat info;
	assert_int_equal(fstat(fd, &info), 0);
	return (struct binary_inode){ info.st_dev, info.st_ino, 0, 0 };
}

static int make_file(const char *folder)
{
	char path[128];
	snprintf(path, sizeof(path), "%s/file-inode-XXXXXX", folder);
	int fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return -1;
	unlink(path);
	assert_int_equal(write(fd, "x", 1), 1);
	return fd;
}

/* Whatever the file system tells of generations: one that is told must agree. */
static void a_file_is_told_by_inode_and_time_of_its_last_write(void **state)
{
	(void)state;
	CLEANUP(close_fd) int fd = make_file("/tmp");
	struct binary_inode wanted = inode_of(fd);
	int generation = 0;
	bool told = ioctl(fd, FS_IOC_GETVERSION, &generation) == 0;
	wanted.generation = (uint32_t)generation;
	assert_int_equal(file_inode_is(fd, &wanted), told); /* no time, and no generation: no */
	wanted.unchanged_since_ns = changed_ns(fd);
	assert_true(file_inode_is(fd, &wanted));
	wanted.unchanged_since_ns = written_ns(fd) - 1;
	assert_false(file_inode_is(fd, &wanted));
	/* another link, or new rights, or a time that was set: the same content */
	assert_int_equal(futimens(fd, (struct timespec[2]){ { 5, 0 }, { 5, 0 } }), 0);
	wanted.unchanged_since_ns = 6 * NS_PER_S;
	assert_int_equal(file_inode_is(fd, &wanted), told);
	wanted.unchanged_since_ns = UINT64_MAX;
	assert_true(file_inode_is(fd, &wanted));
	wanted.generation ^= 1;
	assert_int_equal(file_inode_is(fd, &wanted), !told);
	wanted.generation ^= 1;
	wanted.inode++;
	assert_false(file_inode_is(fd, &wanted));
	wanted.inode--;
	wanted.device++;
	assert_false(file_inode_is(fd, &wanted));
	assert_false(file_inode_is(fd, &(struct binary_inode){ 0 }));
}

/* Files whose file system tells no generation: tmpfs, overlayfs. */
static void a_file_without_generation_needs_a_time(void **state)
{
	(void)state;
	CLEANUP(close_fd) int fd = make_file("/dev/shm");
	int generation;
	if (fd < 0 || ioctl(fd, FS_IOC_GETVERSION, &generation) == 0) {
		SKIP("no file system without generations at /dev/shm");
	}
	struct binary_inode wanted = inode_of(fd);
	assert_false(file_inode_is(fd, &wanted));
	wanted.unchanged_since_ns = changed_ns(fd);
	wanted.generation = 12345; /* as a record has it: nobody can tell */
	assert_true(file_inode_is(fd, &wanted));
	wanted.unchanged_since_ns--;
	assert_false(file_inode_is(fd, &wanted));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_is_told_by_inode_and_time_of_its_last_write),
		cmocka_unit_test(a_file_without_generation_needs_a_time),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
