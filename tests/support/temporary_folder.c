#include "support/temporary_folder.h"

#include <ftw.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define NEEDED_BYTES (UINT64_C(256) << 20)

static struct temporary_folder make_in(const char *base)
{
	struct temporary_folder folder = { 0 };
	snprintf(folder.path, sizeof(folder.path), "%s/culprit-test-XXXXXX", base);
	if (!mkdtemp(folder.path))
		abort();
	return folder;
}

struct temporary_folder temporary_folder_make(void)
{
	const char *base = getenv("TMPDIR");
	return make_in(base ? base : "/tmp");
}

struct temporary_folder temporary_folder_make_in_memory(void)
{
	static const char shared_memory[] = "/dev/shm";
	struct statfs info;
	bool usable = !getenv("TMPDIR") && statfs(shared_memory, &info) == 0 &&
		      info.f_type == TMPFS_MAGIC && access(shared_memory, W_OK) == 0 &&
		      (uint64_t)info.f_bavail * (uint64_t)info.f_bsize >= NEEDED_BYTES;
	return usable ? make_in(shared_memory) : temporary_folder_make();
}

const char *temporary_folder_path(struct temporary_folder *folder, const char *name)
{
	char *path;
	if (folder->given_count == 8 || asprintf(&path, "%s/%s", folder->path, name) < 0)
		abort();
	return folder->given[folder->given_count++] = path;
}

static int remove_one(const char *path, const struct stat *found, int kind, struct FTW *where)
{
	(void)found;
	(void)kind;
	(void)where;
	return remove(path);
}

void temporary_folder_remove(struct temporary_folder *folder)
{
	for (int i = 0; i < folder->given_count; i++)
		free(folder->given[i]);
	nftw(folder->path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}
