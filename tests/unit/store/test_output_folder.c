/* Which links lead to where something is written. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "store/output_folder.h"
#include "support/skip.h"
#include "support/temporary_folder.h"

/* Whether `path` below the temporary folder leads into the folder `wanted` below it. */
static int leads_to(const struct temporary_folder *folder, const char *path, const char *wanted)
{
	char from[512], to[512];
	struct stat reached, there;
	struct error err = { 0 };
	snprintf(from, sizeof(from), "%s/%s", folder->path, path);
	snprintf(to, sizeof(to), "%s/%s", folder->path, wanted);
	CLEANUP(close_fd) int fd = output_folder_open(from, &err);
	if (fd < 0)
		return fd;
	assert_int_equal(fstat(fd, &reached), 0);
	assert_int_equal(stat(to, &there), 0);
	return reached.st_ino == there.st_ino;
}

static void make(const struct temporary_folder *folder, const char *name, mode_t mode)
{
	char path[512];
	snprintf(path, sizeof(path), "%s/%s", folder->path, name);
	assert_int_equal(mkdir(path, mode), 0);
	assert_int_equal(chmod(path, mode), 0);
}

static void link_to(const struct temporary_folder *folder, const char *name, const char *target)
{
	char path[512];
	snprintf(path, sizeof(path), "%s/%s", folder->path, name);
	assert_int_equal(symlink(target, path), 0);
}

static void own_links_are_followed(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	char absolute[512];
	make(&folder, "a", 0700);
	make(&folder, "a/b", 0700);
	make(&folder, "public", 01777);
	snprintf(absolute, sizeof(absolute), "%s/a//b", folder.path);
	link_to(&folder, "relative", "a/b");
	link_to(&folder, "public/up", "../a/./b/");
	link_to(&folder, "absolute", absolute);
	link_to(&folder, "chain", "relative");
	link_to(&folder, "loop", "loop");
	assert_int_equal(leads_to(&folder, "a/b/f", "a/b"), 1);
	assert_int_equal(leads_to(&folder, "a/b/../f", "a"), 1);
	assert_int_equal(leads_to(&folder, "relative/f", "a/b"), 1);
	assert_int_equal(leads_to(&folder, "relative/../f", "a"), 1);
	assert_int_equal(leads_to(&folder, "public/up/f", "a/b"), 1);
	assert_int_equal(leads_to(&folder, "absolute///f", "a/b"), 1);
	assert_int_equal(leads_to(&folder, "chain/f", "a/b"), 1);
	assert_int_equal(leads_to(&folder, "loop/f", "a"), -ELOOP);
	assert_int_equal(leads_to(&folder, "none/f", "a"), -ENOENT);
}

static void what_is_no_folder_ends_the_way(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	CLEANUP(close_file) FILE *file = fopen(temporary_folder_path(&folder, "file"), "we");
	link_to(&folder, "to-file", "file");
	assert_non_null(file);
	assert_int_equal(leads_to(&folder, "file/f", "."), -ENOTDIR);
	assert_int_equal(leads_to(&folder, "to-file/f", "."), -ENOTDIR);
}

/* The rule of fs.protected_symlinks, whatever the sysctl says. */
static void links_of_others_are_followed_in_their_own_folder_alone(void **state)
{
	(void)state;
	if (geteuid() != 0)
		SKIP("needs root");
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	static const struct {
		const char *folder;
		mode_t mode;
		uid_t owner, link_owner;
		int wanted;
	} cases[] = {
		{ "sticky", 01777, 0, 65534, -ELOOP },
		{ "sticky-his", 01777, 65534, 65534, -ELOOP },
		{ "sticky-roots", 01777, 65534, 0, 1 },
		{ "public", 0777, 0, 65534, -ELOOP },
		{ "his", 0755, 65534, 65534, 1 },
		{ "his-anothers", 0755, 65534, 65533, -ELOOP },
	};
	make(&folder, "target", 0700);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char path[512], name[64];
		make(&folder, cases[i].folder, cases[i].mode);
		snprintf(name, sizeof(name), "%s/l", cases[i].folder);
		link_to(&folder, name, "../target");
		snprintf(path, sizeof(path), "%s/%s", folder.path, name);
		assert_int_equal(lchown(path, cases[i].link_owner, 0), 0);
		*strrchr(path, '/') = 0;
		assert_int_equal(chown(path, cases[i].owner, 0), 0);
		strcat(name, "/f");
		assert_int_equal(leads_to(&folder, name, "target"), cases[i].wanted);
	}
}

static void the_last_links_text_is_taken_when_it_is_ours(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	struct error err;
	char *found = NULL;
	char wanted[512];
	make(&folder, "a", 0700);
	link_to(&folder, "a/l", "../m");
	link_to(&folder, "m", "none");
	snprintf(wanted, sizeof(wanted), "%s/a/../none", folder.path);
	assert_int_equal(output_path_resolve(temporary_folder_path(&folder, "a/l"), &found, &err),
			 0);
	assert_string_equal(found, wanted);
	free(found);
	assert_int_equal(output_path_resolve("/proc/self/fd/0", &found, &err), 0);
	assert_string_equal(found, "/proc/self/fd/0");
	free(found);
	if (lchown(temporary_folder_path(&folder, "m"), 65534, 0) == 0 && geteuid() != 65534)
		assert_int_equal(
			output_path_resolve(temporary_folder_path(&folder, "a/l"), &found, &err),
			-ELOOP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(own_links_are_followed),
		cmocka_unit_test(what_is_no_folder_ends_the_way),
		cmocka_unit_test(links_of_others_are_followed_in_their_own_folder_alone),
		cmocka_unit_test(the_last_links_text_is_taken_when_it_is_ours),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
