#include "store/database_stash.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/budget.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/hash_index.h"
#include "base/small_file.h"
#include "profile/profile.h"
#include "store/database_folder.h"
#include "store/pack_files.h"
#include "store/replace_file.h"
#include "store/stash_pack.h"

/* Whether `known` has the record, of its image `id`. */
static bool has_record(const struct profile *known, uint32_t id, const uint64_t *keys,
		       struct span content)
{
	uint64_t wanted[TABLE_MAX_COLUMNS] = { id, keys[STASH_KIND], keys[STASH_FIRST],
					       keys[STASH_LAST] };
	uint32_t bytes = 0;
	if (content.data && !byte_pool_find(&known->bytes, content, &bytes))
		return false;
	wanted[STASH_CONTENT] = bytes;
	return table_has(profile_table(known, PROFILE_STASH), wanted);
}

/* Lists the rows of the image's records that `known` does not have, and returns how many. */
static size_t select_new(const struct profile *profile, uint32_t image, const struct profile *known,
			 uint32_t *rows)
{
	const struct table *stash = profile_table(profile, PROFILE_STASH);
	const struct profile_image identity = profile_image(profile, image);
	uint32_t id = profile_find_image(known, &identity);
	size_t count = 0;
	for (uint32_t row = 0; row < stash->count; row++) {
		const uint64_t *keys = table_keys(stash, row);
		if (keys[STASH_IMAGE] != image)
			continue;
		struct span content = profile_bytes(profile, keys[STASH_CONTENT]);
		if (!id || !has_record(known, id, keys, content))
			rows[count++] = row;
	}
	return count;
}

/* Images of one build-id may share a folder, each with packs of its own. */
static int accept_one(void *context, const struct profile_image *image)
{
	const struct profile_image *wanted = context;
	return profile_image_equal(image, wanted) ? 0 : STASH_PACK_SKIP;
}

static int store_image(const char *images, enum stash_store how, const struct profile *profile,
		       uint32_t image, uint32_t *rows, struct error *err)
{
	char name[STASH_FOLDER_NAME_BYTES];
	if (stash_folder_name(profile, image, name) < 0)
		return database_failed(err, -ENOMEM, images);
	CLEANUP(free_pointer) char *folder = database_below(images, name);
	CLEANUP(profile_freep) struct profile *known = profile_new();
	if (!folder || !known)
		return database_failed(err, -ENOMEM, images);
	int ret = database_make_folder(folder, err);
	/* When a pack cannot be read, all records are written again. */
	struct profile_image identity = profile_image(profile, image);
	const struct pack_reading reading = { NULL, NULL, accept_one, &identity, known };
	size_t packs = 0;
	if (ret == 0 && how == STASH_STORE_NEW &&
	    pack_files_read(&reading, folder, &packs, NULL) < 0) {
		profile_free(known);
		known = profile_new();
		if (!known)
			return database_failed(err, -ENOMEM, images);
	}
	size_t count = ret == 0 ? select_new(profile, image, known, rows) : 0;
	if (ret == 0)
		ret = pack_files_write(folder, profile, image, rows, count, err);
	/* Where it cannot be done now, the next epoch tries again: nothing is missing. */
	if (ret == 0 && count && packs + 1 >= PACK_FILES_MANY)
		pack_files_merge(folder, PACK_FILES_MANY, NULL, NULL, NULL);
	return ret;
}

int database_store_stash(const char *database, enum stash_store how, struct profile *profile,
			 struct error *err)
{
	struct table *stash = profile->tables[PROFILE_STASH];
	size_t images = profile_table(profile, PROFILE_IMAGE)->count;
	CLEANUP(free_pointer) char *folder = database_below(database, DATABASE_IMAGES);
	CLEANUP(free_pointer) uint32_t *rows = calloc(stash->count + 1, sizeof(*rows));
	CLEANUP(free_pointer) bool *used = calloc(images + 1, sizeof(*used));
	if (!folder || !rows || !used)
		return database_failed(err, -ENOMEM, database);
	size_t known;
	profile_columns(PROFILE_STASH, &known);
	if (stash->column_count != known)
		return 0; /* packs cannot hold unknown columns: the stash stays in the file */
	for (size_t row = 0; row < stash->count; row++)
		used[table_keys(stash, row)[STASH_IMAGE]] = true;
	int ret = stash->count ? database_make_folder(folder, err) : 0;
	for (uint32_t image = 1; ret == 0 && image <= images; image++)
		if (used[image])
			ret = store_image(folder, how, profile, image, rows, err);
	if (ret == 0)
		table_clear(stash);
	return ret;
}

/* ---- reading */

/* The folders of a profile's images, each once, in the order of their first image. */
struct homes {
	struct profile *profile;
	struct hash_index images; /* image ids, by all fields of the image */
	char **names;		  /* of the folders */
	uint32_t count;
	struct hash_index index; /* of `names` */
	uint32_t *of;		 /* by image id: the position of its folder in `names` */
	uint32_t now;		 /* the position of the folder that is read */
};

static void homes_release(struct homes *homes)
{
	for (uint32_t i = 0; i < homes->count; i++)
		free(homes->names[i]);
	free(homes->names);
	free(homes->of);
	hash_index_release(&homes->images);
	hash_index_release(&homes->index);
}

static uint64_t hash_of_image(const struct profile_image *image)
{
	return hash_bytes(image->build_id.data, image->build_id.size) ^
	       hash_u64(hash_bytes(image->hash.data, image->hash.size) + image->writer) ^
	       hash_u64(hash_bytes(image->name.data, image->name.size) + 1);
}

static bool image_is(const void *rows, uint32_t id, const void *wanted)
{
	const struct profile_image image = profile_image(rows, id);
	return profile_image_equal(&image, wanted);
}

static bool name_is(const void *rows, uint32_t position, const void *wanted)
{
	return strcmp(((char *const *)rows)[position], wanted) == 0;
}

static int homes_add(struct homes *homes, uint32_t image, const char *name)
{
	const struct profile_image identity = profile_image(homes->profile, image);
	uint64_t hash = hash_bytes(name, strlen(name));
	uint32_t position = hash_index_find(&homes->index, hash, name_is, homes->names, name);
	if (position == HASH_INDEX_NONE) {
		position = homes->count;
		homes->names[position] = strdup(name);
		if (!homes->names[position])
			return -ENOMEM;
		homes->count++;
		if (hash_index_add(&homes->index, hash, position) < 0)
			return -ENOMEM;
	}
	homes->of[image] = position;
	return hash_index_add(&homes->images, hash_of_image(&identity), image);
}

static int homes_init(struct homes *homes, struct profile *profile)
{
	size_t count = profile_table(profile, PROFILE_IMAGE)->count;
	CLEANUP(free_pointer) struct hash128 *stable = calloc(count + 1, sizeof(*stable));
	homes->profile = profile;
	homes->names = calloc(count + 1, sizeof(*homes->names));
	homes->of = calloc(count + 1, sizeof(*homes->of));
	if (!stable || !homes->names || !homes->of ||
	    profile_stable_names(profile, PROFILE_IMAGE, stable) < 0)
		return -ENOMEM;
	int ret = 0;
	for (uint32_t image = 1; ret == 0 && image <= count; image++) {
		const struct profile_image identity = profile_image(profile, image);
		char name[STASH_FOLDER_NAME_BYTES];
		stash_folder_name_of(&identity, &stable[image - 1], name);
		ret = homes_add(homes, image, name);
	}
	return ret;
}

/* A pack may be of an image that the profile does not have, if it lies in the right folder. */
static int accept_known(void *context, const struct profile_image *image)
{
	const struct homes *homes = context;
	uint32_t id = hash_index_find(&homes->images, hash_of_image(image), image_is,
				      homes->profile, image);
	if (id != HASH_INDEX_NONE)
		return homes->of[id] == homes->now ? 0 : -EXDEV;
	CLEANUP(profile_freep) struct profile *alone = profile_new();
	char name[STASH_FOLDER_NAME_BYTES];
	if (!alone || profile_add_image(alone, image, &id) < 0 ||
	    stash_folder_name(alone, id, name) < 0)
		return -ENOMEM;
	return strcmp(name, homes->names[homes->now]) == 0 ? STASH_PACK_SKIP : -EXDEV;
}

int database_join_stash(const char *database, void (*note)(void *context, const char *sentence),
			void *note_context, struct profile *profile, struct error *err)
{
	CLEANUP(free_pointer) char *images = database_below(database, DATABASE_IMAGES);
	CLEANUP(homes_release) struct homes homes = { 0 };
	struct stat found;
	if (!images)
		return database_failed(err, -ENOMEM, database);
	if (lstat(images, &found) < 0 || !S_ISDIR(found.st_mode))
		return 0;
	if (homes_init(&homes, profile) < 0)
		return database_failed(err, -ENOMEM, database);
	const struct pack_reading reading = { note, note_context, accept_known, &homes, profile };
	for (; homes.now < homes.count; homes.now++) {
		CLEANUP(free_pointer)
		char *folder = database_below(images, homes.names[homes.now]);
		if (!folder)
			return database_failed(err, -ENOMEM, database);
		int ret = pack_files_read(&reading, folder, NULL, err);
		if (ret < 0)
			return ret;
	}
	return 0;
}

/* ---- checking */

/* Whether the pack lies in the folder of the one image of `profile`. */
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

struct verification {
	void (*fault)(void *context, const char *path, const char *sentence);
	void *context;
};

/* Decodes one pack and compares it with its name and its folder's. 0, or -ENOMEM without a message.
 */
static int verify_pack(const struct verification *verification, const char *path, const char *name)
{
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	CLEANUP(profile_freep) struct profile *profile = profile_new();
	struct error reason = { 0 };
	char real_name[STASH_PACK_NAME_BYTES];
	if (!profile)
		return -ENOMEM;
	CLEANUP(close_fd) int fd = small_file_open_plain(AT_FDCWD, path);
	int ret = fd < 0 ? fd : small_file_read_fd(fd, PACK_FILE_MOST_BYTES, &bytes);
	if (ret < 0) {
		verification->fault(verification->context, path, strerror(-ret));
		return 0;
	}
	stash_pack_name(bytes.data, bytes.size, real_name);
	if (strcmp(name, real_name) != 0)
		verification->fault(verification->context, path,
				    "its name is not the hash of its content");
	else
		budget_read_profile(budget_content_bytes(bytes.data, bytes.size));
	ret = stash_pack_decode(bytes.data, bytes.size, path, NULL, NULL, profile, &reason);
	if (ret == -ENOMEM)
		return ret;
	if (ret < 0)
		verification->fault(verification->context, path, reason.text);
	else if (!is_folder_of(profile, path))
		verification->fault(verification->context, path,
				    "it is of another image than the folder that it lies in");
	return 0;
}

int database_verify_stash(const char *database,
			  void (*fault)(void *context, const char *path, const char *sentence),
			  void *context, uint64_t *packs, struct error *err)
{
	const struct verification verification = { fault, context };
	CLEANUP(names_release) struct names folders = { 0 };
	CLEANUP(free_pointer) char *images = database_below(database, DATABASE_IMAGES);
	*packs = 0;
	int ret = images ? names_read(&folders, images) : -ENOMEM;
	if (ret < 0)
		return ret == -ENOENT ? 0 : database_failed(err, ret, database);
	for (size_t i = 0; i < folders.count; i++) {
		CLEANUP(names_release) struct names names = { 0 };
		CLEANUP(free_pointer) char *folder = database_below(images, folders.list[i]);
		ret = folder ? names_read(&names, folder) : -ENOMEM;
		if (ret == -ENOTDIR) {
			fault(context, folder, "it is a link or a file in the place of a folder");
			continue;
		}
		if (ret < 0)
			return database_failed(err, ret, folder ? folder : images);
		for (size_t j = 0; j < names.count; j++) {
			if (replace_is_new_name(names.list[j]))
				continue; /* nobody reads it yet */
			++*packs;
			CLEANUP(free_pointer) char *path = database_below(folder, names.list[j]);
			ret = path ? verify_pack(&verification, path, names.list[j]) : -ENOMEM;
			if (ret < 0)
				return database_failed(err, ret, folder);
		}
	}
	return 0;
}
