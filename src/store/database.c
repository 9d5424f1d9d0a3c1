#include "store/database.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/budget.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/small_file.h"
#include "base/sum.h"
#include "profile/profile.h"
#include "store/epoch.h"
#include "store/open_folder.h"
#include "store/output_folder.h"
#include "store/profile_file.h"
#include "store/replace_file.h"
#include "store/stash_pack.h"

#define FOLDER_MODE   0750
#define FILE_MODE     0640
#define IMAGES_FOLDER "images"
#define CLOSED_ENDING ".prof"
#define OPEN_ENDING   ".open"
/* A pack is ended when it has so much: far below what a reader takes. */
#define PACK_END_BYTES	 (16u << 20)
#define PACK_END_RECORDS (1u << 16)
#define PACK_FILE_BYTES	 (STASH_PACK_MAX_BYTES / 4) /* compressed */

static int failed(struct error *err, int code, const char *path)
{
	return error_set(err, code, "cannot use database '%s': %s", path, strerror(-code));
}

/* PATH/NAME, or NULL when out of memory. */
static char *below(const char *path, const char *name)
{
	char *joined;
	return asprintf(&joined, "%s/%s", path, name) < 0 ? NULL : joined;
}

static bool ends_with(const char *name, const char *ending)
{
	size_t length = strlen(name);
	size_t tail = strlen(ending);
	return length > tail && strcmp(name + length - tail, ending) == 0;
}

/* ---- names in a folder, sorted, so that everything is done in one order */

struct names {
	char **list;
	size_t count;
	size_t capacity;
};

static void names_release(struct names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->list[i]);
	free(names->list);
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void close_folder(DIR **folder)
{
	if (*folder)
		closedir(*folder);
}

/* Names that begin with a dot are nobody's business. 0 or negative errno. */
static int names_read(struct names *names, const char *path)
{
	CLEANUP(close_folder) DIR *folder = opendir(path);
	if (!folder)
		return -errno;
	struct dirent *found;
	while ((errno = 0, found = readdir(folder))) {
		if (found->d_name[0] == '.')
			continue;
		int ret = array_reserve(&names->list, &names->capacity, names->count,
					sizeof(*names->list));
		char *copy = ret == 0 ? strdup(found->d_name) : NULL;
		if (!copy)
			return -ENOMEM;
		names->list[names->count++] = copy;
	}
	if (errno)
		return -errno;
	if (names->count)
		qsort(names->list, names->count, sizeof(*names->list), compare_texts);
	return 0;
}

static bool is_folder(const char *path)
{
	struct stat found;
	return lstat(path, &found) == 0 && S_ISDIR(found.st_mode);
}

bool database_host_is_usable(const char *host)
{
	return host[0] && host[0] != '.' && !strchr(host, '/') &&
	       strcmp(host, IMAGES_FOLDER) != 0 && strlen(host) <= NAME_MAX;
}

static bool has_epochs(const char *path)
{
	CLEANUP(names_release) struct names names = { 0 };
	if (!is_folder(path) || names_read(&names, path) < 0)
		return false;
	for (size_t i = 0; i < names.count; i++)
		if (ends_with(names.list[i], CLOSED_ENDING) ||
		    ends_with(names.list[i], OPEN_ENDING))
			return true;
	return false;
}

bool database_recognise(const char *path)
{
	CLEANUP(names_release) struct names names = { 0 };
	if (names_read(&names, path) < 0)
		return false;
	for (size_t i = 0; i < names.count; i++) {
		CLEANUP(free_pointer) char *host = below(path, names.list[i]);
		if (host && (strcmp(names.list[i], IMAGES_FOLDER) == 0 ? is_folder(host)
								       : has_epochs(host)))
			return true;
	}
	return false;
}

/* ---- the stash */

static bool is_trusted(const struct stat *folder)
{
	return folder->st_uid == geteuid() || folder->st_uid == 0;
}

/* Of another user's folder the group and its default rights are his choice: he could read. */
static int check_folder(const char *path, int parent, const char *name, struct error *err)
{
	struct stat found;
	if (fstatat(parent, name, &found, AT_SYMLINK_NOFOLLOW) < 0)
		return failed(err, -errno, path);
	if (!S_ISDIR(found.st_mode))
		return failed(err, -ENOTDIR, path);
	if (!is_trusted(&found))
		return error_set(
			err, -EPERM,
			"cannot use database '%s': the folder belongs to another user (uid "
			"%u)",
			path, (unsigned)found.st_uid);
	return 0;
}

/* By descriptor: where others may write, another may take its place meanwhile. */
static int new_folder(const char *path, int parent, const char *name, struct error *err)
{
	struct stat above, found;
	CLEANUP(close_fd)
	int made = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (made < 0 || fstat(made, &found) < 0 || fstat(parent, &above) < 0)
		return failed(err, -errno, path);
	if (found.st_uid != geteuid())
		return failed(err, -EPERM, path);
	mode_t mode = is_trusted(&above) ? (found.st_mode & S_ISGID) | FOLDER_MODE : 0700;
	if (fchmod(made, mode) < 0)
		return failed(err, -errno, path);
	replace_sync_folder(parent);
	return 0;
}

static int make_folder(const char *path, struct error *err)
{
	size_t length = strlen(path);
	while (length > 1 && path[length - 1] == '/')
		length--;
	CLEANUP(free_pointer) char *plain = strndup(path, length);
	if (!plain)
		return failed(err, -ENOMEM, path);
	CLEANUP(close_fd) int parent = output_folder_open(plain, err);
	if (parent < 0)
		return parent;
	const char *name = output_base_name(plain);
	if (mkdirat(parent, name, 0700) == 0)
		return new_folder(path, parent, name, err);
	return errno == EEXIST ? check_folder(path, parent, name, err) : failed(err, -errno, path);
}

static bool is_folder_of(const struct profile *profile, const char *pack_path)
{
	char name[STASH_FOLDER_NAME_BYTES];
	size_t size = profile_table(profile, PROFILE_IMAGE)->count == 1 &&
				      stash_folder_name(profile, 1, name) == 0
			      ? strlen(name)
			      : 0;
	const char *pack = strrchr(pack_path, '/');
	size_t before = pack ? (size_t)(pack - pack_path) : 0;
	return size && before > size && memcmp(pack - size, name, size) == 0 &&
	       pack[-(ptrdiff_t)size - 1] == '/';
}

/* Images of one build-id may share a folder, each with packs of its own. */
static bool lies_in_its_folder(const struct buffer *bytes, const char *path)
{
	CLEANUP(profile_freep) struct profile *alone = profile_new();
	return alone && stash_pack_decode(bytes->data, bytes->size, path, NULL, alone, NULL) == 0 &&
	       is_folder_of(alone, path);
}

/* A pack's bytes must be those that its name tells, and its image the one of its folder. */
static int read_pack(const char *path, const char *name, const struct profile_image *image,
		     struct profile *profile, struct error *err)
{
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	char real_name[STASH_PACK_NAME_BYTES];
	int ret = small_file_read(path, PACK_FILE_BYTES, &bytes);
	if (ret < 0)
		return error_set(err, ret, "cannot read '%s': %s", path, strerror(-ret));
	stash_pack_name(bytes.data, bytes.size, real_name);
	if (strcmp(name, real_name) != 0)
		return error_set(err, -EBADMSG,
				 "'%s' is damaged: its name is not the hash of its content", path);
	budget_read_profile(budget_content_bytes(bytes.data, bytes.size));
	ret = stash_pack_decode(bytes.data, bytes.size, path, image, profile, err);
	return ret == -EXDEV && lies_in_its_folder(&bytes, path) ? 0 : ret;
}

/* Adds the packs of `image` in `folder` to `profile`; what is wrong goes to `selection->note`, or
 * ends it. */
static int read_packs(const char *folder, const struct database_selection *selection,
		      const struct profile_image *image, struct profile *profile, struct error *err)
{
	CLEANUP(names_release) struct names names = { 0 };
	int ret = names_read(&names, folder);
	if (ret == -ENOENT)
		return 0;
	if (ret < 0)
		return failed(err, ret, folder);
	for (size_t i = 0; i < names.count; i++) {
		if (strlen(names.list[i]) != STASH_PACK_NAME_BYTES - 1)
			continue;
		CLEANUP(free_pointer) char *path = below(folder, names.list[i]);
		struct error reason = { 0 };
		if (!path)
			return failed(err, -ENOMEM, folder);
		ret = read_pack(path, names.list[i], image, profile, &reason);
		if (ret == 0)
			continue;
		if (!selection || !selection->note || ret == -ENOMEM) {
			if (err)
				*err = reason;
			return ret;
		}
		selection->note(selection->note_context, reason.text);
	}
	return 0;
}

static int write_pack(const char *folder, const struct profile *profile, uint32_t image,
		      const uint32_t *rows, size_t count, struct error *err)
{
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	if (stash_pack_encode(profile, image, rows, count, &bytes) < 0)
		return failed(err, -ENOMEM, folder);
	char name[STASH_PACK_NAME_BYTES];
	stash_pack_name(bytes.data, bytes.size, name);
	CLEANUP(free_pointer) char *path = below(folder, name);
	if (!path)
		return failed(err, -ENOMEM, folder);
	int ret = replace_file(path, bytes.data, bytes.size, FILE_MODE, REPLACE_REFUSE, err);
	if (ret != -EEXIST)
		return ret;
	/* Of that name: of that content, unless it was damaged. */
	CLEANUP(buffer_release) struct buffer there = { 0 };
	if (small_file_read(path, PACK_FILE_BYTES, &there) == 0 && there.size == bytes.size &&
	    memcmp(there.data, bytes.data, bytes.size) == 0)
		return 0;
	return replace_file(path, bytes.data, bytes.size, FILE_MODE, REPLACE_DROP, err);
}

static int write_packs(const char *folder, const struct profile *profile, uint32_t image,
		       const uint32_t *rows, size_t count, struct error *err)
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
		ret = write_pack(folder, profile, image, rows, part, err);
		rows += part;
		count -= part;
	}
	return ret;
}

/* The image's rows of the stash that `known`, what the folder holds already, lacks. */
static int select_new(const struct profile *profile, uint32_t image, const struct profile *known,
		      uint32_t *rows, size_t *count)
{
	const struct table *stash = profile_table(profile, PROFILE_STASH);
	CLEANUP(profile_freep) struct profile *one = profile_new();
	if (!one || profile_merge(one, known, NULL) < 0)
		return -ENOMEM;
	struct profile_image identity = profile_image(profile, image);
	uint32_t id;
	if (profile_add_image(one, &identity, &id) < 0)
		return -ENOMEM;
	struct table *have = one->tables[PROFILE_STASH];
	*count = 0;
	for (uint32_t row = 0; row < stash->count; row++) {
		const uint64_t *keys = table_keys(stash, row);
		if (keys[STASH_IMAGE] != image)
			continue;
		uint64_t wanted[TABLE_MAX_COLUMNS] = { id, keys[STASH_KIND], keys[STASH_FIRST],
						       keys[STASH_LAST] };
		uint32_t content, position;
		size_t before = have->count;
		if (profile_add_bytes(one, profile_bytes(profile, keys[STASH_CONTENT]), &content) <
		    0)
			return -ENOMEM;
		wanted[STASH_CONTENT] = content;
		if (table_add(have, wanted, NULL, &position) < 0)
			return -ENOMEM;
		if (position == before)
			rows[(*count)++] = row;
	}
	return 0;
}

static int store_image(const char *images, const struct profile *profile, uint32_t image,
		       uint32_t *rows, struct error *err)
{
	char name[STASH_FOLDER_NAME_BYTES];
	if (stash_folder_name(profile, image, name) < 0)
		return failed(err, -ENOMEM, images);
	CLEANUP(free_pointer) char *folder = below(images, name);
	CLEANUP(profile_freep) struct profile *known = profile_new();
	if (!folder || !known)
		return failed(err, -ENOMEM, images);
	int ret = make_folder(folder, err);
	/* A pack that cannot be read holds nothing for us: its records are written again. */
	struct database_selection quiet = { 0 };
	const struct profile_image identity = profile_image(profile, image);
	if (ret == 0 && read_packs(folder, &quiet, &identity, known, NULL) < 0) {
		profile_free(known);
		known = profile_new();
		if (!known)
			return failed(err, -ENOMEM, images);
	}
	size_t count = 0;
	if (ret == 0 && select_new(profile, image, known, rows, &count) < 0)
		return failed(err, -ENOMEM, images);
	return ret < 0 ? ret : write_packs(folder, profile, image, rows, count, err);
}

/* Moves the stash of a profile that is about to be closed to DB/images. */
static int store_stash(const char *database, struct profile *profile, struct error *err)
{
	struct table *stash = profile->tables[PROFILE_STASH];
	size_t images = profile_table(profile, PROFILE_IMAGE)->count;
	CLEANUP(free_pointer) char *folder = below(database, IMAGES_FOLDER);
	CLEANUP(free_pointer) uint32_t *rows = calloc(stash->count + 1, sizeof(*rows));
	CLEANUP(free_pointer) bool *used = calloc(images + 1, sizeof(*used));
	if (!folder || !rows || !used)
		return failed(err, -ENOMEM, database);
	size_t known;
	profile_columns(PROFILE_STASH, &known);
	if (stash->column_count != known)
		return 0; /* packs have no room for columns we do not know: it stays in the file */
	for (size_t row = 0; row < stash->count; row++)
		used[table_keys(stash, row)[STASH_IMAGE]] = true;
	int ret = stash->count ? make_folder(folder, err) : 0;
	for (uint32_t image = 1; ret == 0 && image <= images; image++)
		if (used[image])
			ret = store_image(folder, profile, image, rows, err);
	if (ret == 0)
		table_clear(stash);
	return ret;
}

static int join_stash(const char *database, const struct database_selection *selection,
		      struct profile *profile, struct error *err)
{
	CLEANUP(free_pointer) char *images = below(database, IMAGES_FOLDER);
	if (!images)
		return failed(err, -ENOMEM, database);
	if (!is_folder(images))
		return 0;
	size_t count = profile_table(profile, PROFILE_IMAGE)->count;
	for (uint32_t image = 1; image <= count; image++) {
		char name[STASH_FOLDER_NAME_BYTES];
		if (stash_folder_name(profile, image, name) < 0)
			return failed(err, -ENOMEM, database);
		CLEANUP(free_pointer) char *folder = below(images, name);
		if (!folder)
			return failed(err, -ENOMEM, database);
		const struct profile_image identity = profile_image(profile, image);
		int ret = read_packs(folder, selection, &identity, profile, err);
		if (ret < 0)
			return ret;
	}
	return 0;
}

int database_verify_stash(const char *database,
			  void (*fault)(void *context, const char *path, const char *sentence),
			  void *context, uint64_t *packs, struct error *err)
{
	CLEANUP(names_release) struct names folders = { 0 };
	CLEANUP(free_pointer) char *images = below(database, IMAGES_FOLDER);
	*packs = 0;
	int ret = images ? names_read(&folders, images) : -ENOMEM;
	if (ret < 0)
		return ret == -ENOENT ? 0 : failed(err, ret, database);
	for (size_t i = 0; i < folders.count; i++) {
		CLEANUP(names_release) struct names names = { 0 };
		CLEANUP(free_pointer) char *folder = below(images, folders.list[i]);
		ret = folder ? names_read(&names, folder) : -ENOMEM;
		if (ret < 0)
			return failed(err, ret, folder ? folder : images);
		for (size_t j = 0; j < names.count; j++) {
			CLEANUP(free_pointer) char *path = below(folder, names.list[j]);
			CLEANUP(buffer_release) struct buffer bytes = { 0 };
			CLEANUP(profile_freep) struct profile *profile = profile_new();
			struct error reason = { 0 };
			char name[STASH_PACK_NAME_BYTES];
			if (!path || !profile)
				return failed(err, -ENOMEM, folder);
			++*packs;
			ret = small_file_read(path, PACK_FILE_BYTES, &bytes);
			if (ret < 0) {
				fault(context, path, strerror(-ret));
				continue;
			}
			stash_pack_name(bytes.data, bytes.size, name);
			if (strcmp(name, names.list[j]) != 0)
				fault(context, path, "its name is not the hash of its content");
			else
				budget_read_profile(budget_content_bytes(bytes.data, bytes.size));
			ret = stash_pack_decode(bytes.data, bytes.size, path, NULL, profile,
						&reason);
			if (ret == -ENOMEM)
				return failed(err, ret, folder);
			if (ret < 0)
				fault(context, path, reason.text);
			else if (!is_folder_of(profile, path))
				fault(context, path,
				      "it is of another image than the folder that it lies in");
		}
	}
	return 0;
}

/* ---- epochs */

static int before_close(void *context, struct profile *profile, struct error *err)
{
	return store_stash(context, profile, err);
}

/* Closes what killed writers left in a host's folder. One that lives is left alone. */
static int close_leftovers(const char *database, const char *folder, struct error *err)
{
	CLEANUP(names_release) struct names names = { 0 };
	int ret = names_read(&names, folder);
	if (ret < 0)
		return failed(err, ret, folder);
	for (size_t i = 0; i < names.count; i++) {
		if (!ends_with(names.list[i], OPEN_ENDING))
			continue;
		CLEANUP(free_pointer) char *open_path = below(folder, names.list[i]);
		CLEANUP(free_pointer) char *path = NULL;
		int stem = (int)(strlen(names.list[i]) - strlen(OPEN_ENDING));
		if (!open_path ||
		    asprintf(&path, "%s/%.*s" CLOSED_ENDING, folder, stem, names.list[i]) < 0)
			return failed(err, -ENOMEM, folder);
		const struct epoch_options options = { .earlier = EPOCH_REFUSE,
						       .mode = FILE_MODE,
						       .open_path = open_path,
						       .before_close = before_close,
						       .context = (void *)database };
		ret = epoch_close_leftover(path, &options, err);
		if (ret < 0 && ret != -EBUSY)
			return ret;
	}
	return 0;
}

/* Epochs that live on need the database's name for as long: it is kept by the epoch. */
static int open_named(const char *database, const char *folder, const char *name,
		      struct epoch **out, struct error *err)
{
	CLEANUP(free_pointer) char *path = NULL;
	CLEANUP(free_pointer) char *open_path = NULL;
	if (asprintf(&path, "%s/%s" CLOSED_ENDING, folder, name) < 0 ||
	    asprintf(&open_path, "%s/%s" OPEN_ENDING, folder, name) < 0)
		return failed(err, -ENOMEM, folder);
	const struct epoch_options options = { .earlier = EPOCH_REFUSE,
					       .mode = FILE_MODE,
					       .open_path = open_path,
					       .before_close = before_close,
					       .context = (void *)database,
					       .context_bytes = strlen(database) + 1 };
	return epoch_open_with(path, &options, out, err);
}

int database_open_epoch(const char *database, const char *host, uint64_t start_ns,
			struct epoch **out, struct error *err)
{
	if (!database_host_is_usable(host))
		return error_set(err, -EINVAL, "'%s' cannot be a host's name in a database", host);
	CLEANUP(free_pointer) char *folder = below(database, host);
	if (!folder)
		return failed(err, -ENOMEM, database);
	int ret = make_folder(database, err);
	if (ret == 0)
		ret = make_folder(folder, err);
	if (ret == 0)
		ret = close_leftovers(database, folder, err);
	time_t seconds = (time_t)(start_ns / 1000000000u);
	struct tm when;
	char stem[32];
	gmtime_r(&seconds, &when);
	strftime(stem, sizeof(stem), "%Y%m%dT%H%M%SZ", &when);
	for (int i = 1; ret == 0; i++) {
		char name[48];
		snprintf(name, sizeof(name), i > 1 ? "%s-%d" : "%s", stem, i);
		ret = open_named(database, folder, name, out, err);
		/* Epochs shorter than a second, or two writers at once: the next number. */
		if ((ret != -EEXIST && ret != -EBUSY) || i == 1000)
			return ret;
		ret = 0;
	}
	return ret;
}

/* ---- reading */

void database_list_release(struct database_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		free(list->entries[i].host);
		free(list->entries[i].epoch);
		free(list->entries[i].path);
	}
	free(list->entries);
	*list = (struct database_list){ 0 };
}

static bool is_among(const char *name, const char *const *wanted, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(name, wanted[i]) == 0)
			return true;
	return count == 0;
}

static void note_times(const struct profile *profile, struct database_entry *entry)
{
	const struct table *source = profile_table(profile, PROFILE_SOURCE);
	for (size_t row = 0; row < source->count; row++) {
		struct profile_source one = profile_source(profile, row);
		if (row == 0 || one.start_ns < entry->start_ns)
			entry->start_ns = one.start_ns;
		if (one.duration_ns > entry->duration_ns)
			entry->duration_ns = one.duration_ns;
	}
}

static void count_samples(const struct profile *profile, struct database_entry *entry)
{
	const struct table *flat = profile_table(profile, PROFILE_FLAT);
	for (size_t row = 0; row < flat->count; row++) {
		uint64_t event = table_keys(flat, row)[FLAT_EVENT];
		if (!event || !profile_event(profile, event).sampled)
			continue;
		entry->has_samples = true;
		sum_add(&entry->samples, table_values(flat, row)[CELL_SAMPLES]);
	}
	entry->has_samples &= !sum_passed(entry->samples); /* as good as not known */
}

static bool overlaps(const struct database_entry *entry, const struct database_selection *wanted)
{
	if (wanted->until_ns && entry->start_ns >= wanted->until_ns)
		return false;
	return !wanted->since_ns || entry->start_ns >= wanted->since_ns ||
	       entry->duration_ns > wanted->since_ns - entry->start_ns;
}

/* Is called with each selected epoch; the callee takes the profile. NULL: nobody asked for it, or
 * it cannot be read. */
typedef int (*visit)(void *context, struct database_entry *entry, struct profile **profile,
		     struct error *err);

/* Who visits, and whether it takes whole profiles. */
struct visitor {
	visit each;
	void *context;
	bool whole;
};

/* Fills the entry, and *profile where it is wanted whole. 1: the epoch is not selected. */
static int look_at(struct database_entry *entry, const struct database_selection *selection,
		   bool whole, struct profile **profile, struct error *reason)
{
	struct profile_file_info info = { 0 };
	CLEANUP(profile_freep) struct profile *sources = NULL;
	bool timed = selection->since_ns || selection->until_ns;
	int ret = whole && !timed ? 0
				  : profile_file_read_sources(entry->path, &sources, &info, reason);
	if (ret == 0 && sources) {
		note_times(sources, entry);
		if (!overlaps(entry, selection))
			return 1;
	}
	if (ret == 0 && whole) {
		ret = profile_file_read(entry->path, profile, &info, reason);
		if (ret == 0) {
			note_times(*profile, entry);
			count_samples(*profile, entry);
		}
	}
	entry->readable = ret == 0;
	if (ret == 0) {
		entry->file_bytes = info.file_bytes;
		entry->being_written = info.being_written;
	}
	return ret;
}

static int visit_epoch(const char *folder, const char *host, const char *file,
		       const struct database_selection *selection, const struct visitor *visitor,
		       struct error *err)
{
	bool is_open = ends_with(file, OPEN_ENDING);
	if (!is_open && !ends_with(file, CLOSED_ENDING))
		return 0;
	CLEANUP(free_pointer)
	char *name = strndup(file, strlen(file) - strlen(is_open ? OPEN_ENDING : CLOSED_ENDING));
	CLEANUP(free_pointer) char *path = below(folder, file);
	if (!name || !path)
		return failed(err, -ENOMEM, folder);
	if (!is_among(name, selection->epochs, selection->epoch_count))
		return 0;
	struct database_entry entry = {
		.host = (char *)host, .epoch = name, .path = path, .is_open = is_open
	};
	CLEANUP(profile_freep) struct profile *profile = NULL;
	struct error reason = { 0 };
	struct stat found;
	CLEANUP(free_pointer) char *inside = below(path, OPEN_FOLDER_PROFILE);
	if ((stat(path, &found) == 0 && S_ISREG(found.st_mode)) ||
	    (inside && stat(inside, &found) == 0))
		entry.file_bytes = (uint64_t)found.st_size;
	int ret = look_at(&entry, selection, visitor->whole, &profile, &reason);
	if (ret == -ENOENT || ret == 1) /* closed meanwhile, or nothing in it; not selected */
		return 0;
	if (ret == -ENOMEM) {
		*err = reason;
		return ret;
	}
	snprintf(entry.fault, sizeof(entry.fault), "%.*s", (int)sizeof(entry.fault) - 1,
		 reason.text);
	return visitor->each(visitor->context, &entry, &profile, err);
}

static int visit_epochs(const char *database, const struct database_selection *selection,
			const struct visitor *visitor, struct error *err)
{
	CLEANUP(names_release) struct names hosts = { 0 };
	int ret = names_read(&hosts, database);
	if (ret < 0)
		return failed(err, ret, database);
	for (size_t i = 0; i < hosts.count; i++) {
		CLEANUP(names_release) struct names files = { 0 };
		CLEANUP(free_pointer) char *folder = below(database, hosts.list[i]);
		if (!folder)
			return failed(err, -ENOMEM, database);
		if (!database_host_is_usable(hosts.list[i]) || !is_folder(folder) ||
		    !is_among(hosts.list[i], selection->hosts, selection->host_count))
			continue;
		ret = names_read(&files, folder);
		if (ret < 0)
			return failed(err, ret, folder);
		for (size_t j = 0; j < files.count; j++) {
			/* Closed while its cleaning up was cut short: the closed one stands. */
			if (j + 1 < files.count && ends_with(files.list[j], OPEN_ENDING) &&
			    ends_with(files.list[j + 1], CLOSED_ENDING) &&
			    strlen(files.list[j]) == strlen(files.list[j + 1]) &&
			    strncmp(files.list[j], files.list[j + 1],
				    strlen(files.list[j]) - strlen(OPEN_ENDING)) == 0)
				continue;
			ret = visit_epoch(folder, hosts.list[i], files.list[j], selection, visitor,
					  err);
			if (ret < 0)
				return ret;
		}
	}
	return 0;
}

static int list_epoch(void *context, struct database_entry *entry, struct profile **profile,
		      struct error *err)
{
	struct database_list *list = context;
	(void)profile;
	if (array_reserve(&list->entries, &list->capacity, list->count, sizeof(*list->entries)) < 0)
		return failed(err, -ENOMEM, entry->path);
	struct database_entry copy = *entry;
	copy.host = strdup(entry->host);
	copy.epoch = strdup(entry->epoch);
	copy.path = strdup(entry->path);
	list->entries[list->count++] = copy;
	return copy.host && copy.epoch && copy.path ? 0 : failed(err, -ENOMEM, entry->path);
}

static int compare_entries(const void *a, const void *b)
{
	const struct database_entry *left = a;
	const struct database_entry *right = b;
	int order = strcmp(left->host, right->host);
	if (order == 0 && left->start_ns != right->start_ns)
		return left->start_ns < right->start_ns ? -1 : 1;
	return order ? order : strcmp(left->epoch, right->epoch);
}

int database_list(const char *database, const struct database_selection *selection,
		  struct database_list *list, struct error *err)
{
	static const struct database_selection all;
	const struct visitor visitor = { list_epoch, list, selection && selection->whole };
	int ret = visit_epochs(database, selection ? selection : &all, &visitor, err);
	if (list->count)
		qsort(list->entries, list->count, sizeof(*list->entries), compare_entries);
	return ret;
}

struct merging {
	const struct database_selection *selection;
	struct profile *into;
	size_t count;
};

static int merge_epoch(void *context, struct database_entry *entry, struct profile **profile,
		       struct error *err)
{
	struct merging *merging = context;
	if (!entry->readable) {
		if (!merging->selection->note)
			return error_set(err, -EBADMSG, "%s", entry->fault);
		merging->selection->note(merging->selection->note_context, entry->fault);
		return 0;
	}
	merging->count++;
	int ret = profile_merge(merging->into, *profile, err);
	if (ret < 0)
		error_prefix(err, "cannot merge '%s'", entry->path);
	return ret;
}

int database_read(const char *database, const struct database_selection *selection,
		  struct profile **out, struct error *err)
{
	static const struct database_selection all;
	CLEANUP(profile_freep) struct profile *into = profile_new();
	struct merging merging = { selection ? selection : &all, into, 0 };
	if (!into)
		return failed(err, -ENOMEM, database);
	const struct visitor visitor = { merge_epoch, &merging, true };
	int ret = visit_epochs(database, merging.selection, &visitor, err);
	if (ret == 0 && merging.count == 0)
		return error_set(err, -ENOENT, "database '%s' has no such epoch", database);
	if (ret == 0)
		ret = join_stash(database, merging.selection, into, err);
	if (ret < 0)
		return ret;
	*out = into;
	into = NULL; /* the caller's from here on */
	return 0;
}
