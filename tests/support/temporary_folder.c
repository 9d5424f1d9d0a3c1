#include "support/temporary_folder.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

struct temporary_folder temporary_folder_make(void)
{
	struct temporary_folder folder = { 0 };
	const char *base = getenv("TMPDIR");
	snprintf(folder.path, sizeof(folder.path), "%s/culprit-test-XXXXXX", base ? base : "/tmp");
	if (!mkdtemp(folder.path))
		abort();
	return folder;
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
