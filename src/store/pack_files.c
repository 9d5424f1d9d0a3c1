#include "store/pack_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/budget.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/small_file.h"
#include "profile/profile.h"
#include "store/database_folder.h"
#include "store/replace_file.h"

/* A pack ends at this size, far below what stash_pack_decode() accepts. */
#define PACK_END_BYTES	 (16u << 20)
#define PACK_END_RECORDS (1u << 16)
/* How often a folder is listed again whose packs are merged while they are read. */
#define LIST_ATTEMPTS 20

/* ---- reading */

static int read_plain(const char *path, struct buffer *bytes)
{
	CLEANUP(close_fd) int fd = small_file_open_plain(AT_FDCWD, path);
	return fd < 0 ? fd : small_file_read_fd(fd, PACK_FILE_MOST_BYTES, bytes);
}

int pack_file_load(const char *path, const char *name, struct buffer *bytes, struct error *err)
{
	char real_name[STASH_PACK_NAME_BYTES];
	int ret = read_plain(path, bytes);
	if (ret < 0)
		return error_set(err, ret, "cannot read '%s': %s", path, strerror(-ret));
	stash_pack_name(bytes->data, bytes->size, real_name);
	if (strcmp(name, real_name) != 0)
		return error_set(err, -EBADMSG,
				 "'%s' is damaged: its name is not the hash of its content", path);
	return 0;
}

static int read_pack(const struct pack_reading *reading, const char *folder, const char *name,
		     struct error *err)
{
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	CLEANUP(free_pointer) char *path = database_below(folder, name);
	if (!path)
		return database_failed(err, -ENOMEM, folder);
	int ret = pack_file_load(path, name, &bytes, err);
	if (ret < 0)
		return ret;
	budget_read_profile(budget_content_bytes(bytes.data, bytes.size));
	return stash_pack_decode(bytes.data, bytes.size, path, reading->accept, reading->context,
				 reading->profile, err);
}

static bool is_pack_name(const char *name)
{
	return strlen(name) == STASH_PACK_NAME_BYTES - 1;
}

/* Reads the packs of `names` that are not in `done`, and adds them to it. 1 when one of them is
 * gone, which is no fault by itself. */
static int read_listed(const struct pack_reading *reading, const char *folder,
		       const struct names *names, struct names *done, struct error *err)
{
	bool gone = false;
	size_t before = done->count;
	for (size_t i = 0; i < names->count; i++) {
		/* the sorted part alone: no name is listed twice */
		const struct names sorted = { done->list, before, before };
		if (!is_pack_name(names->list[i]) || names_have(&sorted, names->list[i]))
			continue;
		struct error reason = { 0 };
		int ret = read_pack(reading, folder, names->list[i], &reason);
		gone |= ret == -ENOENT;
		if (ret == -ENOENT)
			continue;
		if (names_add(done, names->list[i]) < 0)
			return database_failed(err, -ENOMEM, folder);
		if (ret == 0)
			continue;
		if (!reading->note || ret == -ENOMEM) {
			if (err)
				*err = reason;
			return ret;
		}
		reading->note(reading->note_context, reason.text);
	}
	names_sort(done);
	return gone;
}

/* Lists the folder. 1 when there is nothing to read. */
static int list(const struct pack_reading *reading, const char *folder, struct names *names,
		struct error *err)
{
	int ret = names_read(names, folder);
	if (ret == -ENOENT)
		return 1;
	if (ret == -ENOTDIR && reading->note) {
		struct error reason = { 0 };
		database_failed(&reason, ret, folder);
		reading->note(reading->note_context, reason.text);
		return 1;
	}
	return ret < 0 ? database_failed(err, ret, folder) : 0;
}

int pack_files_read(const struct pack_reading *reading, const char *folder, size_t *count,
		    struct error *err)
{
	CLEANUP(names_release) struct names done = { 0 };
	int ret = 1;
	for (int i = 0; ret == 1 && i < LIST_ATTEMPTS; i++) {
		CLEANUP(names_release) struct names names = { 0 };
		ret = list(reading, folder, &names, err);
		if (ret)
			return ret < 0 ? ret : 0;
		ret = read_listed(reading, folder, &names, &done, err);
		if (count)
			*count = names.count;
	}
	return ret < 0 ? ret : 0; /* still some gone: then they are, and were not merged */
}

/* ---- writing */

static int write_pack(const char *folder, const struct profile *profile, uint32_t image,
		      const uint32_t *rows, size_t count, struct names *written, struct error *err)
{
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	if (stash_pack_encode(profile, image, rows, count, &bytes) < 0)
		return database_failed(err, -ENOMEM, folder);
	char name[STASH_PACK_NAME_BYTES];
	stash_pack_name(bytes.data, bytes.size, name);
	CLEANUP(free_pointer) char *path = database_below(folder, name);
	if (!path || (written && names_add(written, name) < 0))
		return database_failed(err, -ENOMEM, folder);
	int ret =
		replace_file(path, bytes.data, bytes.size, DATABASE_FILE_MODE, REPLACE_REFUSE, err);
	if (ret != -EEXIST)
		return ret;
	/* The name is that of the content: the file is the same, unless it was damaged. */
	CLEANUP(buffer_release) struct buffer there = { 0 };
	if (read_plain(path, &there) == 0 && there.size == bytes.size &&
	    memcmp(there.data, bytes.data, bytes.size) == 0)
		return 0;
	return replace_file(path, bytes.data, bytes.size, DATABASE_FILE_MODE, REPLACE_DROP, err);
}

static int write_packs(const char *folder, const struct profile *profile, uint32_t image,
		       const uint32_t *rows, size_t count, struct names *written, struct error *err)
{
	const struct table *stash = profile_table(profile, PROFILE_STASH);
	int ret = 0;
	while (ret == 0 && count) {
		size_t part = 0;
		size_t size = 0;
		while (part < count && part < PACK_END_RECORDS && size < PACK_END_BYTES)
			size += profile_bytes(profile,
					      table_keys(stash, rows[part++])[STASH_CONTENT])
					.size;
		ret = write_pack(folder, profile, image, rows, part, written, err);
		rows += part;
		count -= part;
	}
	return ret;
}

int pack_files_write(const char *folder, const struct profile *profile, uint32_t image,
		     const uint32_t *rows, size_t count, struct error *err)
{
	return write_packs(folder, profile, image, rows, count, NULL, err);
}

/* ---- merging */

struct candidate {
	const char *name;
	uint64_t bytes;
};

static int compare_candidates(const void *a, const void *b)
{
	const struct candidate *left = a, *right = b;
	if (left->bytes != right->bytes)
		return left->bytes < right->bytes ? -1 : 1;
	return strcmp(left->name, right->name);
}

/* The packs that are regular files and ours, by size. Returns how many. */
static size_t find_candidates(int folder, const struct names *names, struct candidate *found)
{
	size_t count = 0;
	for (size_t i = 0; i < names->count; i++) {
		struct stat status;
		const char *name = names->list[i];
		if (is_pack_name(name) &&
		    fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISREG(status.st_mode))
			found[count++] = (struct candidate){ name, (uint64_t)status.st_size };
	}
	qsort(found, count, sizeof(*found), compare_candidates);
	return count;
}

/* How many of them, from the smallest on, are to become one. */
static size_t count_small(const struct candidate *found, size_t count)
{
	uint64_t smaller = 0;
	size_t small = 0;
	while (small < count && (small < 2 || found[small].bytes / 2 <= smaller))
		smaller += found[small++].bytes;
	return small;
}

/* What the small packs of one image hold: several images may share a folder. */
struct group {
	struct profile *profile; /* one image, and its stash */
	struct names names;
};

struct groups {
	struct group *list;
	size_t count;
};

static void groups_release(struct groups *groups)
{
	for (size_t i = 0; i < groups->count; i++) {
		profile_free(groups->list[i].profile);
		names_release(&groups->list[i].names);
	}
	free(groups->list);
}

/* Adds a pack's content to the group of its image, or begins one with it. */
static int add_to_group(struct groups *groups, struct profile **one, const char *name)
{
	const struct profile_image image = profile_image(*one, 1);
	struct group *group = NULL;
	for (size_t i = 0; !group && i < groups->count; i++) {
		const struct profile_image of = profile_image(groups->list[i].profile, 1);
		group = profile_image_equal(&image, &of) ? &groups->list[i] : NULL;
	}
	if (group)
		return profile_merge(group->profile, *one, NULL) < 0 ||
				       names_add(&group->names, name) < 0
			       ? -ENOMEM
			       : 0;
	group = &groups->list[groups->count++];
	*group = (struct group){ .profile = *one };
	*one = NULL; /* the group's from here on */
	return names_add(&group->names, name);
}

/* A pack that cannot be read is left alone. 0 or -ENOMEM. */
static int take_pack(struct groups *groups, const char *folder, const char *name)
{
	CLEANUP(free_pointer) char *path = database_below(folder, name);
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	CLEANUP(profile_freep) struct profile *one = profile_new();
	if (!path || !one)
		return -ENOMEM;
	if (pack_file_load(path, name, &bytes, NULL) < 0 ||
	    stash_pack_is_old(bytes.data, bytes.size))
		return 0;
	budget_read_profile(budget_content_bytes(bytes.data, bytes.size));
	int ret = stash_pack_decode(bytes.data, bytes.size, path, NULL, NULL, one, NULL);
	if (ret < 0)
		return ret == -ENOMEM ? ret : 0;
	return add_to_group(groups, &one, name);
}

/* Writes what a group holds, and removes the packs that it came from. */
static int write_group(const char *path, int folder, const struct group *group, uint64_t *removed,
		       uint64_t *added, struct error *err)
{
	CLEANUP(names_release) struct names written = { 0 };
	size_t count = profile_table(group->profile, PROFILE_STASH)->count;
	CLEANUP(free_pointer) uint32_t *rows = calloc(count + 1, sizeof(*rows));
	if (!rows)
		return database_failed(err, -ENOMEM, path);
	for (uint32_t i = 0; i < count; i++)
		rows[i] = i;
	int ret = write_packs(path, group->profile, 1, rows, count, &written, err);
	if (ret < 0)
		return ret;
	names_sort(&written);
	*added += written.count;
	for (size_t i = 0; i < group->names.count; i++) {
		const char *name = group->names.list[i];
		/* counted on both sides when a pack holds what the others do, too */
		if (names_have(&written, name) || unlinkat(folder, name, 0) == 0)
			++*removed;
	}
	return 0;
}

int pack_files_merge(const char *path, size_t least, uint64_t *removed, uint64_t *written,
		     struct error *err)
{
	uint64_t unwanted = 0;
	CLEANUP(names_release) struct names names = { 0 };
	CLEANUP(groups_release) struct groups groups = { 0 };
	CLEANUP(close_fd)
	int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int ret = folder < 0 ? -errno : names_read(&names, path);
	if (ret < 0)
		return ret == -ENOENT || ret == -ENOTDIR || ret == -ELOOP
			       ? 0
			       : database_failed(err, ret, path);
	CLEANUP(free_pointer)
	struct candidate *found = calloc(names.count + 1, sizeof(*found));
	groups.list = calloc(names.count + 1, sizeof(*groups.list));
	if (!found || !groups.list)
		return database_failed(err, -ENOMEM, path);
	size_t small = count_small(found, find_candidates(folder, &names, found));
	if (small < least)
		return 0;
	for (size_t i = 0; ret == 0 && i < small; i++)
		ret = take_pack(&groups, path, found[i].name);
	if (ret < 0)
		return database_failed(err, ret, path);
	for (size_t i = 0; ret == 0 && i < groups.count; i++)
		if (groups.list[i].names.count > 1)
			ret = write_group(path, folder, &groups.list[i],
					  removed ? removed : &unwanted,
					  written ? written : &unwanted, err);
	return ret;
}
