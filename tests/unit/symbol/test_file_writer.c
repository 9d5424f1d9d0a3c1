#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "image/writer.h"
#include "symbol/file_writer.h"
#include "support/skip.h"

/* A file that was made in memory, with owners and rights as given. */
static uint64_t writer_with(uid_t owner, gid_t group, mode_t rights)
{
	FILE *file = tmpfile();
	struct stat info;
	assert_non_null(file);
	assert_int_equal(fstat(fileno(file), &info), 0);
	info.st_uid = owner;
	info.st_gid = group;
	info.st_mode = S_IFREG | rights;
	uint64_t writer = file_writer(fileno(file), 0, &info);
	fclose(file);
	return writer;
}

static void root_and_we_are_trusted_and_others_are_told(void **state)
{
	(void)state;
	const uid_t me = geteuid();
	assert_int_equal(writer_with(0, 0, 0755), 0);
	assert_int_equal(writer_with(me, 0, 0755), 0);
	assert_int_equal(writer_with(0, 0, 0775), 0);
	assert_int_equal(writer_with(0, 0, 0557), writer_of(WRITER_ANYBODY, 0));
	assert_int_equal(writer_with(me, 77, 0775), writer_of(WRITER_GROUP, 77));
	assert_int_equal(writer_with(me, 77, 0755), 0);
	/* whoever owns it can give himself the right to write */
	assert_int_equal(writer_with(me + 1000, 0, 0555), writer_of(WRITER_USER, me + 1000));
	assert_int_equal(writer_with(me + 1000, 77, 0775), writer_of(WRITER_USER, me + 1000));
	assert_int_equal(writer_with(me + 1000, 77, 0777), writer_of(WRITER_ANYBODY, me + 1000));
}

static void owners_on_a_mount_without_set_user_id_are_not_believed(void **state)
{
	(void)state;
	struct statvfs mount;
	CLEANUP(close_fd) int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	struct stat info;
	if (fd < 0 || fstatvfs(fd, &mount) < 0 || !(mount.f_flag & ST_NOSUID)) {
		SKIP("/proc is mounted with set-user-ID programs");
	}
	assert_int_equal(fstat(fd, &info), 0);
	info.st_uid = 0;
	info.st_mode = S_IFREG | 0555;
	assert_int_equal(file_writer(fd, 0, &info), writer_of(WRITER_MOUNTER, 0));
}

static void a_debug_file_speaks_for_what_its_writer_can_write(void **state)
{
	(void)state;
	const uint64_t mallory = writer_of(WRITER_USER, 1000), bob = writer_of(WRITER_USER, 1001);
	const uint64_t fuse = writer_of(WRITER_MOUNTER, 0);
	assert_true(writer_may_speak_for(0, 0));
	assert_true(writer_may_speak_for(0, mallory));
	assert_true(writer_may_speak_for(mallory, mallory));
	assert_false(writer_may_speak_for(mallory, 0));
	assert_false(writer_may_speak_for(mallory, bob));
	assert_false(writer_may_speak_for(fuse, fuse)); /* whose is not known */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(root_and_we_are_trusted_and_others_are_told),
		cmocka_unit_test(owners_on_a_mount_without_set_user_id_are_not_believed),
		cmocka_unit_test(a_debug_file_speaks_for_what_its_writer_can_write),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
