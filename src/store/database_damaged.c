#include "store/database_damaged.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "store/database_epochs.h"
#include "store/database_folder.h"
#include "store/database_uses.h"
#include "store/open_folder.h"

#define SECOND_NS UINT64_C(1000000000)

void damaged_epochs_release(struct damaged_epochs *damaged)
{
	for (size_t i = 0; i < damaged->count; i++) {
		free(damaged->list[i].name);
		free(damaged->list[i].path);
	}
	free(damaged->list);
	*damaged = (struct damaged_epochs){ 0 };
}

/* Whether `stem` is an epoch's name, or one with "-2" and so on behind it, of a second leftover of
 * that name. */
static bool is_ours(const char *stem)
{
	const char *number = strrchr(stem, '-');
	if (epoch_name_parse(stem, NULL) != EPOCH_NAME_OTHER)
		return true;
	if (!number || !number[1] || strspn(number + 1, "0123456789") != strlen(number + 1))
		return false;
	CLEANUP(free_pointer) char *first = strndup(stem, (size_t)(number - stem));
	return first && epoch_name_parse(first, NULL) != EPOCH_NAME_OTHER;
}

static uint64_t bytes_in(const char *folder)
{
	static const char *const names[] = { OPEN_FOLDER_PROFILE, OPEN_FOLDER_LOG };
	uint64_t bytes = 0;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		CLEANUP(free_pointer) char *path = database_below(folder, names[i]);
		struct stat found;
		if (path && lstat(path, &found) == 0 && S_ISREG(found.st_mode))
			bytes += database_disk_bytes((uint64_t)found.st_size);
	}
	return bytes;
}

static int add(struct damaged_epochs *damaged, const char *host, const char *folder,
	       const char *name)
{
	CLEANUP(free_pointer) char *path = database_below(folder, name);
	CLEANUP(free_pointer)
	char *stem = strndup(name, strlen(name) - strlen(EPOCH_DAMAGED_ENDING));
	struct stat found;
	if (!path || !stem)
		return -ENOMEM;
	if (!is_ours(stem) || lstat(path, &found) < 0 ||
	    !(S_ISDIR(found.st_mode) || S_ISREG(found.st_mode)))
		return 0;
	if (array_reserve(&damaged->list, &damaged->capacity, damaged->count,
			  sizeof(*damaged->list)) < 0)
		return -ENOMEM;
	bool is_folder = S_ISDIR(found.st_mode);
	damaged->list[damaged->count++] = (struct damaged_epoch){
		.host = host,
		.name = stem,
		.path = path,
		.bytes = is_folder ? bytes_in(path) : database_disk_bytes((uint64_t)found.st_size),
		.since_ns = (uint64_t)found.st_ctim.tv_sec * SECOND_NS +
			    (uint64_t)found.st_ctim.tv_nsec,
		.is_folder = is_folder,
	};
	path = stem = NULL; /* the list's from here on */
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct damaged_epoch *left = a, *right = b;
	if (left->since_ns != right->since_ns)
		return left->since_ns < right->since_ns ? -1 : 1;
	return strcmp(left->path, right->path);
}

int damaged_epochs_read(struct damaged_epochs *damaged, const char *database, const char *host)
{
	CLEANUP(names_release) struct names names = { 0 };
	CLEANUP(free_pointer) char *folder = database_below(database, host);
	int ret = folder ? names_read(&names, folder) : -ENOMEM;
	for (size_t i = 0; ret == 0 && i < names.count; i++)
		if (epoch_name_ends_with(span_of_text(names.list[i]), EPOCH_DAMAGED_ENDING))
			ret = add(damaged, host, folder, names.list[i]);
	if (damaged->count)
		qsort(damaged->list, damaged->count, sizeof(*damaged->list), compare);
	return ret == -ENOMEM ? ret : 0; /* a link, or gone: nothing to remove */
}

static int failed(struct error *err, int code, const char *path)
{
	return error_set(err, code, "cannot remove '%s': %s", path, strerror(-code));
}

static int remove_file(const char *database, const struct damaged_epoch *epoch, struct error *err)
{
	struct stat found;
	const char *name = strrchr(epoch->path, '/') + 1;
	CLEANUP(close_fd) int folder = database_open_below(database, epoch->host, NULL);
	if (folder < 0)
		return failed(err, folder, epoch->path);
	if (fstatat(folder, name, &found, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(found.st_mode))
		return 0; /* gone meanwhile, or what it was */
	if (unlinkat(folder, name, 0) == 0 || errno == ENOENT)
		return 0;
	return failed(err, -errno, epoch->path);
}

static int remove_folder(const struct damaged_epoch *epoch, struct error *err)
{
	CLEANUP(open_folder_release) struct open_folder folder = OPEN_FOLDER_NONE;
	int ret = open_folder_reopen(epoch->path, &folder, err);
	if (ret < 0)
		return ret == -ENOENT ? 0 : ret;
	return open_folder_remove(&folder, err);
}

int damaged_epoch_remove(const char *database, const struct damaged_epoch *epoch, struct error *err)
{
	return epoch->is_folder ? remove_folder(epoch, err) : remove_file(database, epoch, err);
}
