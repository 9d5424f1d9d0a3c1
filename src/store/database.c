#include "store/database.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/sum.h"
#include "profile/profile.h"
#include "store/database_folder.h"
#include "store/database_stash.h"
#include "store/epoch.h"
#include "store/open_folder.h"
#include "store/profile_file.h"

#define CLOSED_ENDING ".prof"
#define OPEN_ENDING   ".open"

static bool ends_with(const char *name, const char *ending)
{
	size_t length = strlen(name);
	size_t tail = strlen(ending);
	return length > tail && strcmp(name + length - tail, ending) == 0;
}

static bool is_folder(const char *path)
{
	struct stat found;
	return lstat(path, &found) == 0 && S_ISDIR(found.st_mode);
}

bool database_host_is_usable(const char *host)
{
	return host[0] && host[0] != '.' && !strchr(host, '/') &&
	       strcmp(host, DATABASE_IMAGES) != 0 && strlen(host) <= NAME_MAX;
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
	if (names_read_top(&names, path) < 0)
		return false;
	for (size_t i = 0; i < names.count; i++) {
		CLEANUP(free_pointer) char *host = database_below(path, names.list[i]);
		if (host && (strcmp(names.list[i], DATABASE_IMAGES) == 0 ? is_folder(host)
									 : has_epochs(host)))
			return true;
	}
	return false;
}

/* ---- epochs */

static int before_close(void *context, struct profile *profile, struct error *err)
{
	return database_store_stash(context, profile, err);
}

/* Closes the open epochs of killed writers in a host's folder, but not one whose writer lives. */
static int close_leftovers(const char *database, const char *folder, struct error *err)
{
	CLEANUP(names_release) struct names names = { 0 };
	int ret = names_read(&names, folder);
	if (ret < 0)
		return database_failed(err, ret, folder);
	for (size_t i = 0; i < names.count; i++) {
		if (!ends_with(names.list[i], OPEN_ENDING))
			continue;
		CLEANUP(free_pointer) char *open_path = database_below(folder, names.list[i]);
		CLEANUP(free_pointer) char *path = NULL;
		int stem = (int)(strlen(names.list[i]) - strlen(OPEN_ENDING));
		if (!open_path ||
		    asprintf(&path, "%s/%.*s" CLOSED_ENDING, folder, stem, names.list[i]) < 0)
			return database_failed(err, -ENOMEM, folder);
		const struct epoch_options options = { .earlier = EPOCH_REFUSE,
						       .mode = DATABASE_FILE_MODE,
						       .open_path = open_path,
						       .before_close = before_close,
						       .context = (void *)database };
		ret = epoch_close_leftover(path, &options, err);
		if (ret < 0 && ret != -EBUSY)
			return ret;
	}
	return 0;
}

/* The epoch keeps a copy of the database's path, which before_close() needs. */
static int open_named(const char *database, const char *folder, const char *name,
		      struct epoch **out, struct error *err)
{
	CLEANUP(free_pointer) char *path = NULL;
	CLEANUP(free_pointer) char *open_path = NULL;
	if (asprintf(&path, "%s/%s" CLOSED_ENDING, folder, name) < 0 ||
	    asprintf(&open_path, "%s/%s" OPEN_ENDING, folder, name) < 0)
		return database_failed(err, -ENOMEM, folder);
	const struct epoch_options options = { .earlier = EPOCH_REFUSE,
					       .mode = DATABASE_FILE_MODE,
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
	CLEANUP(free_pointer) char *folder = database_below(database, host);
	if (!folder)
		return database_failed(err, -ENOMEM, database);
	int ret = database_make_folder(database, err);
	if (ret == 0)
		ret = database_make_folder(folder, err);
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
	entry->has_samples &= !sum_passed(entry->samples); /* a saturated sum is unknown */
}

static bool overlaps(const struct database_entry *entry, const struct database_selection *wanted)
{
	if (wanted->until_ns && entry->start_ns >= wanted->until_ns)
		return false;
	return !wanted->since_ns || entry->start_ns >= wanted->since_ns ||
	       entry->duration_ns > wanted->since_ns - entry->start_ns;
}

/* Called with each selected epoch. *profile is NULL unless the visitor wants whole profiles and
 * this one can be read; it stays the caller's. */
typedef int (*visit)(void *context, struct database_entry *entry, struct profile **profile,
		     struct error *err);

struct visitor {
	visit each;
	void *context;
	bool whole; /* it wants whole profiles */
};

/* Fills the entry, and *profile when `whole`. 0; 1 when the epoch is outside the selected times; or
 * a negative errno value with *reason. */
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
		ret = profile_file_read_unlinked(entry->path, profile, &info, reason);
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
	CLEANUP(free_pointer) char *path = database_below(folder, file);
	if (!name || !path)
		return database_failed(err, -ENOMEM, folder);
	if (!is_among(name, selection->epochs, selection->epoch_count))
		return 0;
	struct database_entry entry = {
		.host = (char *)host, .epoch = name, .path = path, .is_open = is_open
	};
	CLEANUP(profile_freep) struct profile *profile = NULL;
	struct error reason = { 0 };
	struct stat found;
	entry.is_link = lstat(path, &found) == 0 && S_ISLNK(found.st_mode);
	CLEANUP(free_pointer) char *inside = database_below(path, OPEN_FOLDER_PROFILE);
	if ((lstat(path, &found) == 0 && S_ISREG(found.st_mode)) ||
	    (!entry.is_link && inside && lstat(inside, &found) == 0))
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
	int ret = names_read_top(&hosts, database);
	if (ret < 0)
		return database_failed(err, ret, database);
	for (size_t i = 0; i < hosts.count; i++) {
		CLEANUP(names_release) struct names files = { 0 };
		CLEANUP(free_pointer) char *folder = database_below(database, hosts.list[i]);
		if (!folder)
			return database_failed(err, -ENOMEM, database);
		if (!database_host_is_usable(hosts.list[i]) || !is_folder(folder) ||
		    !is_among(hosts.list[i], selection->hosts, selection->host_count))
			continue;
		ret = names_read(&files, folder);
		if (ret < 0)
			return database_failed(err, ret, folder);
		for (size_t j = 0; j < files.count; j++) {
			/* Both: its writer died between closing and cleaning up. The closed file
			 * counts. */
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
		return database_failed(err, -ENOMEM, entry->path);
	struct database_entry copy = *entry;
	copy.host = strdup(entry->host);
	copy.epoch = strdup(entry->epoch);
	copy.path = strdup(entry->path);
	list->entries[list->count++] = copy;
	return copy.host && copy.epoch && copy.path ? 0
						    : database_failed(err, -ENOMEM, entry->path);
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
		return database_failed(err, -ENOMEM, database);
	const struct visitor visitor = { merge_epoch, &merging, true };
	int ret = visit_epochs(database, merging.selection, &visitor, err);
	if (ret == 0 && merging.count == 0)
		return error_set(err, -ENOENT, "database '%s' has no such epoch", database);
	if (ret == 0)
		ret = database_join_stash(database, merging.selection->note,
					  merging.selection->note_context, into, err);
	if (ret < 0)
		return ret;
	*out = into;
	into = NULL; /* the caller's from here on */
	return 0;
}
