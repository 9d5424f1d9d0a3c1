#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/count_of.h"
#include "base/error.h"
#include "support/skip.h"
#include "support/temporary_folder.h"
#include "support/toolchain.h"
#include "symbol/safe_open.h"

#define OTHER (geteuid() + 1)

/* 0 or the negative errno. */
static int try_path(const struct temporary_folder *folder, const char *name,
		    const struct safe_limits *limits)
{
	struct safe_file file = { .fd = -1 };
	struct error err = { 0 };
	char path[512];
	snprintf(path, sizeof(path), "%s%s", name[0] == '/' ? "" : folder->path, name);
	if (name[0] != '/')
		snprintf(path, sizeof(path), "%s/%s", folder->path, name);
	int ret = safe_open_path(0, path, limits, &file, &err);
	/* As another process sees the same path: the answer is the same. */
	struct safe_file again = { .fd = -1 };
	int as_other = safe_open_path(getpid(), path, limits, &again, NULL);
	if (as_other != -ENOSYS)
		assert_int_equal(as_other, ret);
	assert_true(ret == 0 ? file.fd >= 0 : err.text[0] != 0);
	if (again.fd >= 0)
		close(again.fd);
	if (file.fd >= 0)
		close(file.fd);
	return ret;
}

static struct temporary_folder make_files(void)
{
	struct temporary_folder folder = temporary_folder_make();
	toolchain_run(
		folder.path,
		"umask 022; chmod 755 .; echo text >open; cp open private; chmod 600 private; "
		"cp open group; chmod 640 group; mkdir closed; cp open closed/open; "
		"chmod 700 closed; mkfifo fifo; ln -s open link; ln -s private link-private; "
		"ln -s closed/open link-closed; cp open named-twice; ln named-twice twin; "
		"cp open writable; chmod 666 writable; truncate -s 2M large; "
		"ln -s /proc/self/environ link-kernel; "
		"mkdir everybodys; chmod 1777 everybodys; cp open private everybodys; "
		"chmod 600 everybodys/private; mkdir inner; cp open inner; "
		"ln -s ../open inner/up; ln -s open inner/beside; "
		"ln -s \"$PWD/open\" inner/absolute; mkdir -m 700 inner/closed; "
		"cp open inner/closed; ln -s /etc inner/away");
	return folder;
}

struct expectation {
	const char *name;
	int as_user, as_root; /* what they get, a negative errno */
};

static void expect_all(const struct temporary_folder *folder, const struct safe_limits *limits,
		       const struct expectation *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		int wanted = geteuid() ? list[i].as_user : list[i].as_root;
		int got = try_path(folder, list[i].name, limits);
		if (got != wanted)
			fail_msg("'%s' gave %d, not %d", list[i].name, got, wanted);
	}
}

static void what_a_stranger_names_must_be_everybodys_or_the_readers_own(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = make_files();
	const struct safe_limits limits = { .size_bytes = 1 << 20,
					    .owner = OWNER_PUBLIC,
					    .user = SAFE_NO_USER,
					    .link = LINK_FOLLOW };
	static const struct expectation list[] = {
		{ "open", 0, 0 },
		{ "private", 0, -EPERM },
		{ "group", 0, -EPERM },
		{ "closed/open", 0, -EPERM },
		{ "link", 0, 0 },
		{ "link-private", 0, -EPERM },
		{ "link-closed", 0, -EPERM },
		{ "fifo", -ENOTSUP, -ENOTSUP },
		{ "inner", -ENOTSUP, -ENOTSUP },
		{ "/dev/null", -ENOTSUP, -ENOTSUP },
		{ "/dev/tty", -ENOTSUP, -ENOTSUP },
		{ "/proc/self/environ", -ENOTSUP, -ENOTSUP },
		{ "/sys/kernel/notes", -ENOTSUP, -ENOTSUP },
		{ "link-kernel", -ENOTSUP, -ENOTSUP },
		{ "large", -EFBIG, -EFBIG },
		{ "none", -ENOENT, -ENOENT },
		{ "open/none", -ENOTDIR, -ENOTDIR },
	};
	if (access("/sys/kernel/notes", F_OK) != 0)
		SKIP("no /sys/kernel/notes here");
	expect_all(&folder, &limits, list, COUNT_OF(list));
}

static void who_names_a_path_may_name_his_own(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = make_files();
	const struct safe_limits own = {
		.size_bytes = 1 << 20, .owner = OWNER_PUBLIC, .user = geteuid(), .link = LINK_FOLLOW
	};
	struct safe_limits others = own;
	others.user = OTHER;
	assert_int_equal(try_path(&folder, "private", &own), 0);
	assert_int_equal(try_path(&folder, "closed/open", &own), 0);
	assert_int_equal(try_path(&folder, "private", &others), geteuid() ? 0 : -EPERM);
	/* A group may read it: not everybody. */
	if (geteuid() == 0) {
		toolchain_run(folder.path, "chown 1 group private; chmod 640 group");
		assert_int_equal(try_path(&folder, "group", &own), -EPERM);
		assert_int_equal(try_path(&folder, "private", &own), -EPERM);
		others.user = 1;
		assert_int_equal(try_path(&folder, "private", &others), 0);
	}
}

static void a_map_must_be_its_process_users_own_and_lie_where_it_is_named(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = make_files();
	const struct safe_limits limits = { .size_bytes = 1 << 20,
					    .owner = OWNER_PROCESS,
					    .user = geteuid() };
	static const struct expectation list[] = {
		{ "open", 0, 0 },
		{ "private", 0, 0 },
		{ "everybodys/private", 0, 0 },
		{ "link", -ELOOP, -ELOOP },
		{ "link-private", -ELOOP, -ELOOP },
		{ "fifo", -ENOTSUP, -ENOTSUP },
		{ "/dev/null", -ENOTSUP, -ENOTSUP },
		{ "named-twice", -EPERM, -EPERM },
		{ "twin", -EPERM, -EPERM },
		{ "writable", -EPERM, -EPERM },
		{ "large", -EFBIG, -EFBIG },
		{ "none", -ENOENT, -ENOENT },
	};
	expect_all(&folder, &limits, list, COUNT_OF(list));
	/* Root's file is nobody else's, and of whom nobody knows nothing is read. */
	static const char *const names[] = { "open", "private" };
	struct safe_limits others = limits;
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		others.user = OTHER;
		assert_int_equal(try_path(&folder, names[i], &others), -EPERM);
		others.user = SAFE_NO_USER;
		assert_int_equal(try_path(&folder, names[i], &others), -EPERM);
	}
}

/* In a user namespace of its own, where everybody may mount: `from` lies over `over`. */
static pid_t mount_over(const char *from, const char *over)
{
	int ready[2];
	char told = 0;
	assert_int_equal(pipe(ready), 0);
	pid_t pid = fork();
	if (pid == 0) {
		close(ready[0]);
		if (unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 &&
		    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
		    mount(from, over, NULL, MS_BIND, NULL) == 0 && write(ready[1], "y", 1) == 1)
			pause();
		_exit(0);
	}
	close(ready[1]);
	ssize_t got = read(ready[0], &told, 1);
	close(ready[0]);
	if (got == 1)
		return pid;
	waitpid(pid, NULL, 0);
	SKIP("no user namespaces here");
	return -1;
}

static void what_a_process_mounts_over_its_map_is_not_its_map(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = make_files();
	const char *map = temporary_folder_path(&folder, "private");
	const char *other = temporary_folder_path(&folder, "open");
	struct safe_limits limits = { .size_bytes = 1 << 20,
				      .owner = OWNER_PROCESS,
				      .user = geteuid() };
	struct safe_file file = { .fd = -1 };
	struct error err = { 0 };
	pid_t pid = mount_over(other, map);
	int mounted = safe_open_path(pid, map, &limits, &file, &err);
	int beside = safe_open_path(pid, other, &limits, &file, NULL);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_int_equal(mounted, -EPERM);
	assert_non_null(strstr(err.text, "is a mount of its own"));
	assert_int_equal(beside, 0);
	close(file.fd);
}

/* Without search permission nobody gets there, under whichever name the process sees it. */
static void a_private_folder_stays_private_in_another_mount_namespace(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = make_files();
	const char *over = temporary_folder_path(&folder, "private");
	const char *secret = temporary_folder_path(&folder, "closed/open");
	const struct safe_limits limits = { .size_bytes = 1 << 20,
					    .owner = OWNER_PUBLIC,
					    .user = SAFE_NO_USER };
	struct safe_file file = { .fd = -1 };
	pid_t pid = mount_over(temporary_folder_path(&folder, "group"), over);
	int mounted = safe_open_path(pid, over, &limits, &file, NULL);
	int closed = safe_open_path(pid, secret, &limits, &file, NULL);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_int_equal(mounted, geteuid() ? 0 : -EPERM);
	assert_int_equal(closed, geteuid() ? 0 : -EPERM);
	if (file.fd >= 0)
		close(file.fd);
}

static int try_below(const char *root, const char *path)
{
	const struct safe_limits limits = { .size_bytes = 1 << 20, .link = LINK_FOLLOW };
	struct safe_file file = { .fd = -1 };
	struct error err = { 0 };
	int ret = safe_open_below(root, path, &limits, &file, &err);
	assert_true(ret == 0 || err.text[0]);
	if (file.fd >= 0)
		close(file.fd);
	return ret;
}

static void nothing_leads_out_of_a_folder_that_was_named(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = make_files();
	const char *inner = temporary_folder_path(&folder, "inner");
	static const struct {
		const char *path;
		int code;
	} list[] = {
		{ "open", 0 },		 { "/open", 0 },	 { "///open", 0 },
		{ "closed/../open", 0 }, { "/./open", 0 },	 { "beside", 0 },
		{ "closed/open", 0 }, /* the folder's owner's */
		{ "../open", -EXDEV },	 { "/../open", -EXDEV }, { "closed/../../open", -EXDEV },
		{ "up", -EXDEV },	 { "absolute", -EXDEV }, { "away/passwd", -EXDEV },
		{ "closed", -ENOTSUP },	 { "none", -ENOENT },	 { "", -ENOENT },
	};
	for (size_t i = 0; i < COUNT_OF(list); i++) {
		int got = try_below(inner, list[i].path);
		if (got != list[i].code)
			fail_msg("'%s' gave %d, not %d", list[i].path, got, list[i].code);
	}
	/* A folder that everybody may write into vouches for nobody. */
	const char *everybodys = temporary_folder_path(&folder, "everybodys");
	assert_int_equal(try_below(everybodys, "open"), 0);
	assert_int_equal(try_below(everybodys, "private"), geteuid() ? 0 : -EPERM);
	assert_int_equal(try_below("/proc", "self/environ"), -ENOTSUP);
	if (geteuid() == 0) {
		/* another's folder: its owner's files, and not root's */
		toolchain_run(folder.path, "chown 1 inner; chmod 600 inner/open; "
					   "cp private inner/mine; chown 1 inner/mine");
		assert_int_equal(try_below(inner, "mine"), 0);
		assert_int_equal(try_below(inner, "open"), -EPERM);
		assert_int_equal(try_below(inner, "closed/open"), -EPERM);
	}
}

static void what_the_kernel_leads_to_is_regular_or_nothing(void **state)
{
	(void)state;
	const struct safe_limits limits = { .size_bytes = UINT64_MAX,
					    .owner = OWNER_PUBLIC,
					    .user = SAFE_NO_USER };
	struct safe_file file = { .fd = -1 };
	struct error err;
	assert_int_equal(safe_open_executable(getpid(), &limits, &file, &err), 0);
	assert_true(file.fd >= 0 && file.links >= 1 && S_ISREG(file.mode));
	close(file.fd);
}

static void two_files_have_two_generations_on_one_mount(void **state)
{
	(void)state;
	struct temporary_folder folder = make_files();
	const struct safe_limits limits = { .size_bytes = UINT64_MAX, .owner = OWNER_ANY };
	struct safe_file first, second;
	assert_int_equal(
		safe_open_path(0, temporary_folder_path(&folder, "open"), &limits, &first, NULL),
		0);
	assert_int_equal(safe_open_path(0, temporary_folder_path(&folder, "writable"), &limits,
					&second, NULL),
			 0);
	assert_int_equal(first.generation_known, second.generation_known);
	assert_true(!first.generation_known || first.generation != second.generation);
	assert_true(first.mount == second.mount); /* 0 before Linux 6.8 */
	close(first.fd);
	close(second.fd);
	temporary_folder_remove(&folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_stranger_names_must_be_everybodys_or_the_readers_own),
		cmocka_unit_test(who_names_a_path_may_name_his_own),
		cmocka_unit_test(a_map_must_be_its_process_users_own_and_lie_where_it_is_named),
		cmocka_unit_test(what_a_process_mounts_over_its_map_is_not_its_map),
		cmocka_unit_test(a_private_folder_stays_private_in_another_mount_namespace),
		cmocka_unit_test(nothing_leads_out_of_a_folder_that_was_named),
		cmocka_unit_test(what_the_kernel_leads_to_is_regular_or_nothing),
		cmocka_unit_test(two_files_have_two_generations_on_one_mount),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
