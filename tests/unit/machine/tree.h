/*
 * tree - a folder that looks like the /proc and /sys of another machine,
 * made from a table and removed again.
 */
#pragma once

#include <assert.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "machine/machine_root.h"

struct tree_file {
	const char *path;    /* NULL ends a table; one that ends in "/" is an empty folder */
	const char *content; /* a newline is added, as the kernel does */
};

struct tree {
	char path[64];
	struct machine_root root;
};

static inline void tree_make_folders(char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		mkdir(path, 0777);
		*slash = '/';
	}
}

static inline void tree_add(struct tree *tree, const char *name, const char *content)
{
	char path[768];
	snprintf(path, sizeof(path), "%s/%s", tree->path, name);
	tree_make_folders(path);
	if (path[strlen(path) - 1] == '/')
		return;
	FILE *file = fopen(path, "w");
	assert(file);
	if (*content)
		fprintf(file, "%s\n", content);
	fclose(file);
}

static inline void tree_make(struct tree *tree, const struct tree_file *files)
{
	const char *folder = getenv("TMPDIR");
	snprintf(tree->path, sizeof(tree->path), "%s/culprit-tree-XXXXXX",
		 folder && strlen(folder) < 32 ? folder : "/tmp");
	char *made = mkdtemp(tree->path);
	assert(made);
	(void)made;
	for (; files && files->path; files++)
		tree_add(tree, files->path, files->content);
	int status = machine_root_open(tree->path, &tree->root, NULL);
	assert(status == 0);
	(void)status;
}

static inline int tree_remove_one(const char *path, const struct stat *status, int type,
				  struct FTW *walk)
{
	(void)status;
	(void)type;
	(void)walk;
	return remove(path);
}

static inline void tree_remove(struct tree *tree)
{
	machine_root_close(&tree->root);
	nftw(tree->path, tree_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}
