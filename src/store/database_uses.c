#include "store/database_uses.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "profile/profile.h"
#include "store/database_folder.h"
#include "store/profile_file.h"
#include "store/stash_pack.h"

#define SECOND_NS UINT64_C(1000000000)
#define BLOCK_BYTES 4096
#define NO_IMAGE  UINT32_MAX

uint64_t database_disk_bytes(uint64_t file_bytes)
{
	return file_bytes > UINT64_MAX - BLOCK_BYTES
		       ? UINT64_MAX
		       : (file_bytes + BLOCK_BYTES - 1) / BLOCK_BYTES * BLOCK_BYTES;
}

void database_uses_release(struct database_uses *uses)
{
	for (size_t i = 0; i < uses->count; i++) {
		free(uses->epochs[i].file.name);
		free(uses->epochs[i].file.path);
		free(uses->epochs[i].images);
	}
	for (size_t i = 0; i < uses->image_count; i++)
		free(uses->images[i].name);
	for (size_t i = 0; i < uses->host_count; i++)
		free(uses->hosts[i]);
	free(uses->epochs);
	free(uses->images);
	free(uses->hosts);
	*uses = (struct database_uses){ 0 };
}

bool database_is_image_name(const char *name)
{
	const char *digits = name[0] == 'n' ? name + 1 : name;
	return *digits && strspn(digits, "0123456789abcdef-") == strlen(digits) &&
	       strlen(name) < STASH_FOLDER_NAME_BYTES;
}

bool database_is_pack_name(const char *name)
{
	return strlen(name) == STASH_PACK_NAME_BYTES - 1 &&
	       strspn(name, "0123456789abcdef") == STASH_PACK_NAME_BYTES - 1;
}

static int open_ours(int at, const char *name, int more_flags)
{
	struct stat found;
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | more_flags);
	if (fd < 0)
		return errno == ELOOP ? -ENOTDIR : -errno;
	if (fstat(fd, &found) == 0 && (found.st_uid == geteuid() || found.st_uid == 0))
		return fd;
	close(fd);
	return -EPERM;
}

int database_open_below(const char *database, const char *name, const char *below)
{
	CLEANUP(close_fd) int top = open_ours(AT_FDCWD, database, 0);
	if (top < 0)
		return top;
	int folder = open_ours(top, name, O_NOFOLLOW);
	if (folder < 0 || !below)
		return folder;
	int inner = open_ours(folder, below, O_NOFOLLOW);
	close(folder);
	return inner;
}

/* ---- packs */

static int count_packs(const char *images, struct used_image *image, uint64_t old_before_ns)
{
	CLEANUP(names_release) struct names names = { 0 };
	CLEANUP(free_pointer) char *folder = database_below(images, image->name);
	int ret = folder ? names_read(&names, folder) : -ENOMEM;
	for (size_t i = 0; ret == 0 && i < names.count; i++) {
		CLEANUP(free_pointer) char *path = database_below(folder, names.list[i]);
		struct stat found;
		if (!path)
			return -ENOMEM;
		if (!database_is_pack_name(names.list[i]) || lstat(path, &found) < 0 ||
		    !S_ISREG(found.st_mode))
			continue;
		uint64_t bytes = database_disk_bytes((uint64_t)found.st_size);
		uint64_t since_ns = (uint64_t)found.st_ctim.tv_sec * SECOND_NS +
				    (uint64_t)found.st_ctim.tv_nsec;
		bool old = since_ns < old_before_ns;
		image->bytes += bytes;
		image->packs++;
		image->old_bytes += old ? bytes : 0;
		image->old_packs += old;
	}
	return ret == -ENOMEM ? ret : 0; /* a link, or gone: nothing to remove */
}

static int read_images(const char *database, uint64_t old_before_ns, struct database_uses *uses,
		       struct error *err)
{
	CLEANUP(names_release) struct names names = { 0 };
	CLEANUP(free_pointer) char *images = database_below(database, DATABASE_IMAGES);
	int ret = images ? names_read(&names, images) : -ENOMEM;
	if (ret == -ENOENT || ret == -ENOTDIR)
		return 0;
	uses->images = calloc(names.count + 1, sizeof(*uses->images));
	if (ret == 0 && !uses->images)
		ret = -ENOMEM;
	for (size_t i = 0; ret == 0 && i < names.count; i++) {
		if (!database_is_image_name(names.list[i]))
			continue;
		struct used_image *image = &uses->images[uses->image_count++];
		image->name = strdup(names.list[i]);
		ret = image->name ? count_packs(images, image, old_before_ns) : -ENOMEM;
	}
	return ret < 0 ? database_failed(err, ret, database) : 0;
}

static int compare_with_image(const void *name, const void *image)
{
	return strcmp(name, ((const struct used_image *)image)->name);
}

/* The position of an image's folder, or NO_IMAGE. */
static uint32_t find_image(const struct database_uses *uses, const struct profile_image *image,
			   const struct hash128 *stable)
{
	char name[STASH_FOLDER_NAME_BYTES];
	stash_folder_name_of(image, stable, name);
	const struct used_image *found =
		uses->image_count ? bsearch(name, uses->images, uses->image_count,
					    sizeof(*uses->images), compare_with_image)
				  : NULL;
	return found ? (uint32_t)(found - uses->images) : NO_IMAGE;
}

/* ---- epochs */

/* Notes which folders of images the epoch needs. `seen` has a mark for each, all clear before and
 * after. 0 or -ENOMEM. */
static int note_images(struct database_uses *uses, const struct profile *profile, bool *seen,
		       struct used_epoch *epoch)
{
	size_t count = profile_table(profile, PROFILE_IMAGE)->count;
	CLEANUP(free_pointer) struct hash128 *stable = calloc(count + 1, sizeof(*stable));
	epoch->images = calloc(count + 1, sizeof(*epoch->images));
	if (!stable || !epoch->images || profile_stable_names(profile, PROFILE_IMAGE, stable) < 0)
		return -ENOMEM;
	for (uint32_t id = 1; id <= count; id++) {
		const struct profile_image image = profile_image(profile, id);
		uint32_t at = find_image(uses, &image, &stable[id - 1]);
		if (at == NO_IMAGE || seen[at])
			continue;
		seen[at] = true;
		uses->images[at].users++;
		epoch->images[epoch->image_count++] = at;
	}
	for (size_t i = 0; i < epoch->image_count; i++)
		seen[epoch->images[i]] = false;
	return 0;
}

static uint64_t end_of_sources(const struct profile *profile)
{
	const struct table *source = profile_table(profile, PROFILE_SOURCE);
	uint64_t end_ns = 0;
	for (size_t row = 0; row < source->count; row++) {
		const struct profile_source one = profile_source(profile, row);
		if (one.start_ns && one.start_ns <= UINT64_MAX - one.duration_ns &&
		    one.start_ns + one.duration_ns > end_ns)
			end_ns = one.start_ns + one.duration_ns;
	}
	return end_ns;
}

/* One that nothing can be read of needs nothing; of one that is there for others the needs are not
 * known. */
static bool is_worthless(int code)
{
	return code == -ENOENT || code == -EBADMSG || code == -EPROTO || code == -ELOOP ||
	       code == -EISDIR || code == -ENXIO;
}

static int read_epoch(struct database_uses *uses, bool *seen, struct used_epoch *epoch)
{
	CLEANUP(profile_freep) struct profile *profile = NULL;
	struct profile_file_info info = { 0 };
	struct error reason = { 0 };
	int ret = profile_file_read_images(epoch->file.path, &profile, &info, &reason);
	if (ret == -ENOMEM)
		return ret;
	epoch->has_writer = info.being_written;
	if (ret < 0 && !is_worthless(ret) && uses->complete) {
		uses->complete = false;
		snprintf(uses->incomplete, sizeof(uses->incomplete), "%.*s",
			 (int)sizeof(uses->incomplete) - 1, reason.text);
	}
	if (ret == 0)
		epoch->end_ns = end_of_sources(profile);
	if (epoch->end_ns == 0)
		epoch->end_ns = epoch->file.written_ns > epoch->file.named_ns
					? epoch->file.written_ns
					: epoch->file.named_ns;
	return ret == 0 ? note_images(uses, profile, seen, epoch) : 0;
}

/* Takes the files of a host over from `files`. */
static int take_host(struct database_uses *uses, const char *host, struct epoch_files *files,
		     bool *seen)
{
	for (size_t i = 0; i < files->count; i++) {
		struct epoch_file *file = &files->list[i];
		struct stat found;
		if (array_reserve(&uses->epochs, &uses->capacity, uses->count,
				  sizeof(*uses->epochs)) < 0)
			return -ENOMEM;
		struct used_epoch *epoch = &uses->epochs[uses->count++];
		*epoch = (struct used_epoch){ .host = host, .file = *file };
		file->name = file->path = NULL; /* the epoch's from here on */
		epoch->bytes = database_disk_bytes(epoch->file.bytes);
		epoch->is_ours =
			epoch->file.naming != EPOCH_NAME_OTHER &&
			lstat(epoch->file.path, &found) == 0 &&
			(epoch->file.is_open ? S_ISDIR(found.st_mode) : S_ISREG(found.st_mode));
		if (read_epoch(uses, seen, epoch) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int read_host(const char *database, const char *name, struct database_uses *uses, bool *seen,
		     struct error *err)
{
	CLEANUP(epoch_files_release) struct epoch_files files = { 0 };
	CLEANUP(free_pointer) char *folder = database_below(database, name);
	struct stat found;
	if (!folder)
		return database_failed(err, -ENOMEM, database);
	if (!database_host_is_usable(name) || lstat(folder, &found) < 0 || !S_ISDIR(found.st_mode))
		return 0;
	int ret = array_reserve(&uses->hosts, &uses->host_capacity, uses->host_count,
				sizeof(*uses->hosts));
	char *host = ret == 0 ? strdup(name) : NULL;
	if (!host)
		return database_failed(err, -ENOMEM, folder);
	uses->hosts[uses->host_count++] = host;
	ret = epoch_files_read(&files, folder);
	if (ret == 0)
		ret = take_host(uses, host, &files, seen);
	return ret < 0 ? database_failed(err, ret, folder) : 0;
}

static int compare_epochs(const void *a, const void *b)
{
	const struct used_epoch *left = a, *right = b;
	if (left->end_ns != right->end_ns)
		return left->end_ns < right->end_ns ? -1 : 1;
	int order = strcmp(left->host, right->host);
	return order ? order : strcmp(left->file.name, right->file.name);
}

int database_uses_read(const char *database, uint64_t old_before_ns, struct database_uses *uses,
		       struct error *err)
{
	CLEANUP(names_release) struct names names = { 0 };
	uses->complete = true;
	int ret = names_read_top(&names, database);
	if (ret < 0)
		return database_failed(err, ret, database);
	ret = read_images(database, old_before_ns, uses, err);
	CLEANUP(free_pointer) bool *seen = calloc(uses->image_count + 1, sizeof(*seen));
	if (ret == 0 && !seen)
		return database_failed(err, -ENOMEM, database);
	for (size_t i = 0; ret == 0 && i < names.count; i++)
		ret = read_host(database, names.list[i], uses, seen, err);
	if (uses->count)
		qsort(uses->epochs, uses->count, sizeof(*uses->epochs), compare_epochs);
	return ret;
}
