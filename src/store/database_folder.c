#include "store/database_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "store/output_folder.h"
#include "store/replace_file.h"

#define FOLDER_MODE 0750

bool database_host_is_usable(const char *host)
{
	return host[0] && host[0] != '.' && !strchr(host, '/') &&
	       strcmp(host, DATABASE_IMAGES) != 0 && strlen(host) <= NAME_MAX;
}

int database_failed(struct error *err, int code, const char *path)
{
	return error_set(err, code, "cannot use database '%s': %s", path, strerror(-code));
}

char *database_below(const char *path, const char *name)
{
	char *joined;
	return asprintf(&joined, "%s/%s", path, name) < 0 ? NULL : joined;
}

void names_release(struct names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->list[i]);
	free(names->list);
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

int names_add(struct names *names, const char *name)
{
	int ret = array_reserve(&names->list, &names->capacity, names->count, sizeof(*names->list));
	char *copy = ret == 0 ? strdup(name) : NULL;
	if (!copy)
		return -ENOMEM;
	names->list[names->count++] = copy;
	return 0;
}

void names_sort(struct names *names)
{
	if (names->count)
		qsort(names->list, names->count, sizeof(*names->list), compare_texts);
}

bool names_have(const struct names *names, const char *name)
{
	return names->count &&
	       bsearch(&name, names->list, names->count, sizeof(*names->list), compare_texts);
}

static void close_folder(DIR **folder)
{
	if (*folder)
		closedir(*folder);
}

static int read_names(struct names *names, const char *path, int more_flags)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | more_flags);
	if (fd < 0)
		return -errno;
	CLEANUP(close_folder) DIR *folder = fdopendir(fd);
	if (!folder) {
		close(fd);
		return -ENOMEM;
	}
	struct dirent *found;
	while ((errno = 0, found = readdir(folder))) {
		if (found->d_name[0] == '.')
			continue;
		if (names_add(names, found->d_name) < 0)
			return -ENOMEM;
	}
	if (errno)
		return -errno;
	names_sort(names);
	return 0;
}

int names_read(struct names *names, const char *path)
{
	return read_names(names, path, O_NOFOLLOW);
}

int names_read_top(struct names *names, const char *path)
{
	return read_names(names, path, 0);
}

static bool is_trusted(const struct stat *folder)
{
	return folder->st_uid == geteuid() || folder->st_uid == 0;
}

/* Another user's folder is refused: its owner chose its group and default ACL, and could read what
 * is written there. */
static int check_folder(const char *path, int parent, const char *name, struct error *err)
{
	struct stat found;
	if (fstatat(parent, name, &found, AT_SYMLINK_NOFOLLOW) < 0)
		return database_failed(err, -errno, path);
	if (!S_ISDIR(found.st_mode))
		return database_failed(err, -ENOTDIR, path);
	if (!is_trusted(&found))
		return error_set(
			err, -EPERM,
			"cannot use database '%s': the folder belongs to another user (uid "
			"%u)",
			path, (unsigned)found.st_uid);
	return 0;
}

/* Gives a new folder its mode, through a descriptor: where others may write, something else may
 * have its name by now. */
static int new_folder(const char *path, int parent, const char *name, struct error *err)
{
	struct stat above, found;
	CLEANUP(close_fd)
	int made = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (made < 0 || fstat(made, &found) < 0 || fstat(parent, &above) < 0)
		return database_failed(err, -errno, path);
	if (found.st_uid != geteuid())
		return database_failed(err, -EPERM, path);
	mode_t mode = is_trusted(&above) ? (found.st_mode & S_ISGID) | FOLDER_MODE : 0700;
	if (fchmod(made, mode) < 0)
		return database_failed(err, -errno, path);
	replace_sync_folder(parent);
	return 0;
}

int database_make_folder(const char *path, struct error *err)
{
	size_t length = strlen(path);
	while (length > 1 && path[length - 1] == '/')
		length--;
	CLEANUP(free_pointer) char *plain = strndup(path, length);
	if (!plain)
		return database_failed(err, -ENOMEM, path);
	CLEANUP(close_fd) int parent = output_folder_open(plain, err);
	if (parent < 0)
		return parent;
	const char *name = output_base_name(plain);
	if (mkdirat(parent, name, 0700) == 0)
		return new_folder(path, parent, name, err);
	return errno == EEXIST ? check_folder(path, parent, name, err)
			       : database_failed(err, -errno, path);
}
