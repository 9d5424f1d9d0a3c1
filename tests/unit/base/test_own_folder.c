/* A folder of one's own is made with the way to it; what others can write is not believed; a file
 * has one content or another. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/own_folder.h"
#include "support/temporary_folder.h"

static const struct span text = { "first", 5 };

static void the_way_to_it_is_made_when_it_is_wanted(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	const char *path = temporary_folder_path(&folder, "a/b/c");
	assert_int_equal(own_folder_open(path, false), -ENOENT);
	assert_int_equal(access(temporary_folder_path(&folder, "a"), F_OK), -1);
	CLEANUP(close_fd) int fd = own_folder_open(path, true);
	assert_true(fd >= 0);
	assert_int_equal(own_folder_write(fd, "file", text), 0);
	CLEANUP(close_fd) int again = own_folder_open(path, true);
	CLEANUP(buffer_release) struct buffer out = { 0 };
	assert_int_equal(own_folder_read(again, "file", 5, &out), 0);
	assert_int_equal(out.size, 5);
	assert_memory_equal(out.data, "first", 5);
}

static void what_others_can_write_is_not_believed(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	const char *path = temporary_folder_path(&folder, "own");
	CLEANUP(buffer_release) struct buffer out = { 0 };
	CLEANUP(close_fd) int fd = own_folder_open(path, true);
	assert_int_equal(own_folder_write(fd, "file", text), 0);
	assert_int_equal(fchmodat(fd, "file", 0666, 0), 0);
	assert_int_equal(own_folder_read(fd, "file", 100, &out), -EPERM);
	assert_int_equal(fchmodat(fd, "file", 0644, 0), 0);
	assert_int_equal(own_folder_read(fd, "file", 4, &out), -EFBIG);
	assert_int_equal(symlinkat("file", fd, "link"), 0);
	assert_int_equal(own_folder_read(fd, "link", 100, &out), -ELOOP);
	assert_int_equal(mkfifoat(fd, "pipe", 0600), 0);
	assert_int_equal(own_folder_read(fd, "pipe", 100, &out), -ENXIO);
	assert_int_equal(chmod(path, 0777), 0);
	assert_int_equal(own_folder_open(path, false), -EPERM);
	assert_int_equal(own_folder_open(path, true), -EPERM);
	if (geteuid() == 0) { /* nor what another user owns */
		assert_int_equal(chmod(path, 0755), 0);
		assert_int_equal(chown(path, 65534, 65534), 0);
		assert_int_equal(own_folder_open(path, false), -EPERM);
	}
}

static void a_file_is_replaced_as_a_whole(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	CLEANUP(buffer_release) struct buffer out = { 0 };
	char left[64];
	CLEANUP(close_fd) int fd = own_folder_open(temporary_folder_path(&folder, "own"), true);
	assert_int_equal(own_folder_write(fd, "file", text), 0);
	/* A process of this number was killed before it had written all. */
	snprintf(left, sizeof(left), "file.%d", (int)getpid());
	int partial = openat(fd, left, O_WRONLY | O_CREAT, 0644);
	assert_int_equal(write(partial, "xxxxxxxxxxxx", 12), 12);
	close(partial);
	assert_int_equal(own_folder_write(fd, "file", (struct span){ "2nd", 3 }), 0);
	assert_int_equal(own_folder_read(fd, "file", 100, &out), 0);
	assert_int_equal(out.size, 3);
	assert_memory_equal(out.data, "2nd", 3);
	assert_int_equal(faccessat(fd, left, F_OK, 0), -1);
	/* A folder in its place: nothing is left half-written. */
	assert_int_equal(mkdirat(fd, "taken", 0700), 0);
	assert_true(own_folder_write(fd, "taken", text) < 0);
	snprintf(left, sizeof(left), "taken.%d", (int)getpid());
	assert_int_equal(faccessat(fd, left, F_OK, 0), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_way_to_it_is_made_when_it_is_wanted),
		cmocka_unit_test(what_others_can_write_is_not_believed),
		cmocka_unit_test(a_file_is_replaced_as_a_whole),
	};
	return cmocka_run_group_tests_name("own folder", tests, NULL, NULL);
}
