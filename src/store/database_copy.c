#include "store/database_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/small_file.h"
#include "profile/profile.h"
#include "store/database.h"
#include "store/database_epochs.h"
#include "store/database_folder.h"
#include "store/database_lock.h"
#include "store/database_replaced.h"
#include "store/database_uses.h"
#include "store/file_source.h"
#include "store/pack_files.h"
#include "store/profile_file.h"
#include "store/replace_file.h"

/* How often epochs or packs are looked for anew that vanish while they are copied: they are in
 * others then. */
#define COPY_ATTEMPTS	 5
#define LOCK_PATIENCE_NS UINT64_C(10000000000)

struct copying {
	const char *from, *to;
	const struct database_selection *selection;
	struct database_copied *copied;
	struct names images; /* folders whose packs are copied, sorted */
	const char *host;    /* of `there` */
	struct replaced_set there;
	bool vanished;
};

static void copying_release(struct copying *copying)
{
	names_release(&copying->images);
	replaced_release(&copying->there);
}

static void note(const struct copying *copying, const char *sentence)
{
	if (copying->selection->note)
		copying->selection->note(copying->selection->note_context, sentence);
}

static int out_of_memory(const struct copying *copying, struct error *err)
{
	return database_failed(err, -ENOMEM, copying->to);
}

/* ---- packs */

static bool has_size(const char *path, uint64_t size)
{
	struct stat found;
	return lstat(path, &found) == 0 && S_ISREG(found.st_mode) &&
	       (uint64_t)found.st_size == size;
}

/* Copies a pack unless it is there. 0; 1 when it is gone; or a negative errno value with *err. */
static int copy_pack(struct copying *copying, const char *from, const char *to, const char *name,
		     struct error *err)
{
	CLEANUP(free_pointer) char *source = database_below(from, name);
	CLEANUP(free_pointer) char *target = database_below(to, name);
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	struct error reason;
	struct stat found;
	if (!source || !target)
		return out_of_memory(copying, err);
	/* A name is the hash of the content: with the size it tells whether the file is right. */
	if (lstat(source, &found) == 0 && has_size(target, (uint64_t)found.st_size))
		return 0;
	int ret = pack_file_load(source, name, &bytes, &reason);
	if (ret == -ENOENT)
		return 1;
	if (ret == -ENOMEM)
		return out_of_memory(copying, err);
	if (ret < 0) {
		note(copying, reason.text);
		return 0;
	}
	ret = replace_file(target, bytes.data, bytes.size, DATABASE_FILE_MODE, REPLACE_DROP, err);
	if (ret < 0)
		return ret;
	copying->copied->packs++;
	copying->copied->pack_bytes += bytes.size;
	return 0;
}

static int copy_packs(struct copying *copying, const char *from, const char *to, struct error *err)
{
	int ret = 1;
	for (int i = 0; ret == 1 && i < COPY_ATTEMPTS; i++) {
		CLEANUP(names_release) struct names names = { 0 };
		ret = names_read(&names, from);
		if (ret == -ENOENT || ret == -ENOTDIR)
			return 0;
		if (ret == 0 && names.count)
			ret = database_make_folder(to, err);
		else if (ret < 0)
			return database_failed(err, ret, from);
		bool gone = false;
		for (size_t j = 0; ret == 0 && j < names.count; j++) {
			if (!database_is_pack_name(names.list[j]))
				continue;
			ret = copy_pack(copying, from, to, names.list[j], err);
			gone |= ret == 1;
			ret = ret < 0 ? ret : 0;
		}
		ret = ret < 0 ? ret : gone;
	}
	return ret < 0 ? ret : 0;
}

/* Copies the packs of a profile's images, each folder once. */
static int copy_stash(struct copying *copying, const struct profile *profile, struct error *err)
{
	size_t count = profile_table(profile, PROFILE_IMAGE)->count;
	CLEANUP(free_pointer) struct hash128 *stable = calloc(count + 1, sizeof(*stable));
	if (!stable || profile_stable_names(profile, PROFILE_IMAGE, stable) < 0)
		return out_of_memory(copying, err);
	int ret = 0;
	for (uint32_t id = 1; ret == 0 && id <= count; id++) {
		const struct profile_image image = profile_image(profile, id);
		char name[STASH_FOLDER_NAME_BYTES];
		stash_folder_name_of(&image, &stable[id - 1], name);
		if (names_have(&copying->images, name))
			continue;
		CLEANUP(free_pointer) char *from = NULL;
		CLEANUP(free_pointer) char *to = NULL;
		if (names_add(&copying->images, name) < 0 ||
		    asprintf(&from, "%s/" DATABASE_IMAGES "/%s", copying->from, name) < 0 ||
		    asprintf(&to, "%s/" DATABASE_IMAGES "/%s", copying->to, name) < 0)
			return out_of_memory(copying, err);
		names_sort(&copying->images);
		ret = copy_packs(copying, from, to, err);
	}
	return ret;
}

/* ---- epochs */

/* Reads the file once, so that what is written is what was found to be sound. 1 when it is gone. */
static int load_epoch(const struct copying *copying, const struct database_entry *entry,
		      struct buffer *bytes, struct profile **profile, struct timespec *written,
		      struct error *err)
{
	struct profile_file_info info;
	struct error reason;
	struct stat found;
	CLEANUP(close_fd) int fd = small_file_open_plain(AT_FDCWD, entry->path);
	int ret = fd < 0 ? fd : small_file_read_fd(fd, FILE_SOURCE_MAX_BYTES, bytes);
	if (ret == 0 && fstat(fd, &found) < 0)
		ret = -errno;
	if (ret == -ENOENT)
		return 1;
	if (ret < 0)
		error_set(&reason, ret, "cannot read '%s': %s", entry->path, strerror(-ret));
	else
		ret = profile_file_decode(bytes->data, bytes->size, entry->path, profile, &info,
					  &reason);
	if (ret == -ENOMEM)
		return out_of_memory(copying, err);
	if (ret < 0) {
		note(copying, reason.text);
		copying->copied->left_out++;
		return -EBADMSG;
	}
	*written = found.st_mtim;
	return 0;
}

/* Fills copying->there for a host: what has been made one there, and need not be copied in parts.
 */
static int look_there(struct copying *copying, const char *host)
{
	CLEANUP(epoch_files_release) struct epoch_files files = { 0 };
	CLEANUP(free_pointer) char *folder = database_below(copying->to, host);
	if (copying->host && strcmp(copying->host, host) == 0)
		return 0;
	replaced_release(&copying->there);
	copying->host = host;
	int ret = folder ? epoch_files_read(&files, folder) : -ENOMEM;
	for (size_t i = 0; ret == 0 && i < files.count; i++) {
		CLEANUP(profile_freep) struct profile *sources = NULL;
		struct profile_file_info info;
		struct error reason;
		if (files.list[i].naming != EPOCH_NAME_COMPACTED)
			continue;
		/* Whole: one that is damaged elsewhere holds nothing. */
		if (profile_file_read_unlinked(files.list[i].path, &sources, &info, &reason) == 0)
			ret = replaced_add(&copying->there, sources, files.list[i].name);
		else
			note(copying, reason.text);
	}
	return ret == -ENOMEM ? ret : 0;
}

/* What to do when a file of that name is there: 0: it is the same; 1: replace it, it is damaged; or
 * -EEXIST, which is noted. */
static int compare_there(struct copying *copying, const char *path, const struct buffer *bytes)
{
	CLEANUP(buffer_release) struct buffer there = { 0 };
	CLEANUP(profile_freep) struct profile *profile = NULL;
	CLEANUP(close_fd) int fd = small_file_open_plain(AT_FDCWD, path);
	struct error reason;
	if (fd >= 0 && small_file_read_fd(fd, FILE_SOURCE_MAX_BYTES, &there) == 0) {
		if (there.size == bytes->size && memcmp(there.data, bytes->data, there.size) == 0)
			return 0;
		if (profile_file_decode(there.data, there.size, path, &profile, NULL, NULL) ==
		    -EBADMSG)
			return 1;
	}
	error_set(&reason, -EEXIST, "'%s' is another epoch of the same name, and stays", path);
	note(copying, reason.text);
	copying->copied->left_out++;
	return -EEXIST;
}

static int write_epoch(struct copying *copying, const char *path, const struct buffer *bytes,
		       struct timespec written, struct error *err)
{
	int ret = replace_file(path, bytes->data, bytes->size, DATABASE_FILE_MODE, REPLACE_REFUSE,
			       err);
	if (ret == -EEXIST) {
		ret = compare_there(copying, path, bytes);
		if (ret <= 0) {
			copying->copied->there += ret == 0;
			return 0;
		}
		ret = replace_file(path, bytes->data, bytes->size, DATABASE_FILE_MODE, REPLACE_DROP,
				   err);
	}
	if (ret < 0)
		return ret;
	utimensat(AT_FDCWD, path, (struct timespec[]){ written, written }, AT_SYMLINK_NOFOLLOW);
	copying->copied->epochs++;
	copying->copied->epoch_bytes += bytes->size;
	return 0;
}

static int copy_epoch(struct copying *copying, const struct database_entry *entry,
		      struct error *err)
{
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	CLEANUP(profile_freep) struct profile *profile = NULL;
	CLEANUP(free_pointer) char *folder = database_below(copying->to, entry->host);
	CLEANUP(free_pointer) char *path = NULL;
	struct timespec written = { 0 };
	if (!folder || asprintf(&path, "%s/%s" EPOCH_CLOSED_ENDING, folder, entry->epoch) < 0)
		return out_of_memory(copying, err);
	int ret = load_epoch(copying, entry, &bytes, &profile, &written, err);
	if (ret == 1)
		copying->vanished = true;
	if (ret == 1 || ret == -EBADMSG)
		return 0;
	if (ret < 0)
		return ret;
	if (look_there(copying, entry->host) < 0)
		return out_of_memory(copying, err);
	if (replaced_has(&copying->there, profile, entry->epoch)) {
		copying->copied->there++;
		return 0;
	}
	ret = copy_stash(copying, profile, err);
	if (ret == 0)
		ret = database_make_folder(folder, err);
	return ret < 0 ? ret : write_epoch(copying, path, &bytes, written, err);
}

static int copy_or_leave(struct copying *copying, const struct database_entry *entry,
			 struct error *err)
{
	struct error reason;
	if (entry->is_open) {
		error_set(&reason, 0, "'%s' is %s: it can be copied once it is closed", entry->path,
			  entry->being_written ? "being recorded" : "a recording that was cut off");
		note(copying, reason.text);
		copying->copied->open++;
		return 0;
	}
	if (!entry->readable) {
		note(copying, entry->fault);
		copying->copied->left_out++;
		return 0;
	}
	/* what is in another comes along with that */
	return entry->replaced ? 0 : copy_epoch(copying, entry, err);
}

static int copy_listed(struct copying *copying, struct error *err)
{
	CLEANUP(database_list_release) struct database_list list = { 0 };
	struct database_selection selection = *copying->selection;
	selection.whole = false;
	int ret = database_list(copying->from, &selection, &list, err);
	copying->vanished = false;
	/* Both are of the list before: since then packs may have come. */
	copying->host = NULL;
	names_release(&copying->images);
	copying->images = (struct names){ 0 };
	for (size_t i = 0; ret == 0 && i < list.count; i++)
		ret = copy_or_leave(copying, &list.entries[i], err);
	return ret;
}

int database_copy(const char *from, const char *to, const struct database_selection *selection,
		  struct database_copied *copied, struct error *err)
{
	static const struct database_selection all;
	CLEANUP(copying_release)
	struct copying copying = {
		.from = from, .to = to, .selection = selection ? selection : &all, .copied = copied
	};
	CLEANUP(free_pointer) char *images = database_below(to, DATABASE_IMAGES);
	*copied = (struct database_copied){ 0 };
	if (!images)
		return out_of_memory(&copying, err);
	int ret = database_make_folder(to, err);
	if (ret == 0)
		ret = database_make_folder(images, err);
	if (ret < 0)
		return ret;
	/* So that nobody removes packs as long as the epochs that need them are not there. */
	CLEANUP(close_fd)
	int lock = database_lock_images(to, DATABASE_LOCK_SHARED, LOCK_PATIENCE_NS);
	if (lock == -EBUSY)
		return error_set(err, -EBUSY,
				 "database '%s' is being pruned: nothing is copied into it now",
				 to);
	copying.vanished = true;
	for (int i = 0; ret == 0 && copying.vanished && i < COPY_ATTEMPTS; i++) {
		*copied = (struct database_copied){ .epochs = copied->epochs,
						    .epoch_bytes = copied->epoch_bytes,
						    .packs = copied->packs,
						    .pack_bytes = copied->pack_bytes };
		ret = copy_listed(&copying, err);
	}
	return ret;
}
