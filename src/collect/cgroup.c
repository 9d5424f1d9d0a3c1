#include "collect/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/small_file.h"
#include "profile/cgroup_names.h"

#define MOUNTS_LIMIT	 (4u << 20)

/* Whether the comma-separated list has the member. */
static bool list_has(struct span list, const char *member)
{
	const char *at = list.data;
	const char *end = at + list.size;
	size_t size = strlen(member);
	while (at < end) {
		const char *comma = memchr(at, ',', (size_t)(end - at));
		const char *stop = comma ? comma : end;
		if ((size_t)(stop - at) == size && memcmp(at, member, size) == 0)
			return true;
		at = stop + 1;
	}
	return false;
}

/* Stores the next line's list of controllers and its path. */
static bool next_line(struct span *text, struct span *list, struct span *path)
{
	const char *at = text->data;
	const char *end = at ? at + text->size : NULL;
	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		const char *stop = newline ? newline : end;
		const char *first = memchr(at, ':', (size_t)(stop - at));
		const char *second =
			first ? memchr(first + 1, ':', (size_t)(stop - first - 1)) : NULL;
		at = newline ? newline + 1 : end;
		if (!second)
			continue;
		*text = (struct span){ at, (size_t)(end - at) };
		*list = (struct span){ first + 1, (size_t)(second - first - 1) };
		*path = (struct span){ second + 1, (size_t)(stop - second - 1) };
		return true;
	}
	return false;
}

enum hierarchy { UNIFIED, SYSTEMD, PERF, OTHER, HIERARCHIES };

static enum hierarchy hierarchy_of(struct span list)
{
	return list.size == 0			? UNIFIED
	       : list_has(list, "name=systemd") ? SYSTEMD
	       : list_has(list, "perf_event")	? PERF
						: OTHER;
}

struct span cgroup_path(struct span text)
{
	struct span paths[HIERARCHIES] = { 0 }, containers[HIERARCHIES] = { 0 }, list, path;
	while (next_line(&text, &list, &path)) {
		enum hierarchy hierarchy = hierarchy_of(list);
		paths[hierarchy] = path;
		if (cgroup_container(path).data)
			containers[hierarchy] = path;
	}
	for (size_t i = 0; i < HIERARCHIES; i++)
		if (containers[i].data)
			return containers[i];
	for (size_t i = 0; i < OTHER; i++)
		if (paths[i].size > 1)
			return paths[i];
	return paths[UNIFIED].size   ? paths[UNIFIED]
	       : paths[SYSTEMD].size ? paths[SYSTEMD]
				     : paths[PERF];
}

/* The mount point of the hierarchy that perf events use, from /proc/mounts. */
static bool find_mount(const char *mounts, char *mount, size_t size)
{
	bool found = false;
	char line[2048];
	for (const char *at = mounts; *at;) {
		size_t length = strcspn(at, "\n");
		snprintf(line, sizeof(line), "%.*s", (int)length, at);
		at += length + (at[length] == '\n');
		char place[512];
		char type[64];
		char options[512];
		if (sscanf(line, "%*s %511s %63s %511s", place, type, options) != 3)
			continue;
		bool own = strcmp(type, "cgroup") == 0 &&
			   list_has(span_of_text(options), "perf_event");
		if (!own && (strcmp(type, "cgroup2") != 0 || found))
			continue;
		snprintf(mount, size, "%s", place);
		found = true;
		if (own)
			break;
	}
	return found;
}

/* Only the folder of a group has the list of its processes. */
static int open_group(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOTDIR ? -ENOENT : -errno;
	if (faccessat(fd, "cgroup.procs", F_OK, 0) == 0)
		return fd;
	close(fd);
	return -ENOENT;
}

static bool same_hierarchy(int fd, const char *mount)
{
	struct stat group, root;
	return fstat(fd, &group) == 0 && stat(mount, &root) == 0 && group.st_dev == root.st_dev;
}

int cgroup_open(const char *path, struct error *err)
{
	CLEANUP(buffer_release) struct buffer mounts = { 0 };
	CLEANUP(free_pointer) char *full = NULL;
	char mount[512];
	small_file_read("/proc/mounts", MOUNTS_LIMIT, &mounts);
	if (!find_mount(buffer_text(&mounts), mount, sizeof(mount)))
		return error_set(err, -ENOENT, "no control groups are mounted here");
	int fd = path[0] == '/' ? open_group(path) : -ENOENT;
	if (fd >= 0 && same_hierarchy(fd, mount))
		return fd;
	if (fd >= 0) {
		close(fd);
		return error_set(err, -ENOTSUP,
				 "control group '%s' is of a hierarchy without perf events; theirs "
				 "is below '%s'",
				 path, mount);
	}
	if (asprintf(&full, "%s/%s", mount, path[0] == '/' ? path + 1 : path) < 0)
		return error_set(err, -ENOMEM, "out of memory");
	fd = open_group(full);
	if (fd == -ENOENT)
		return error_set(err, fd, "there is no control group '%s' below '%s'", path, mount);
	return fd >= 0 ? fd
		       : error_set(err, fd, "cannot open control group '%s': %s", full,
				   strerror(-fd));
}
