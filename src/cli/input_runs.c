#include "cli/input_runs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "cli/foreign.h"
#include "cli/input_private.h"
#include "cli/limits.h"
#include "cli/message.h"
#include "profile/profile.h"
#include "profile/runs.h"
#include "store/database.h"
#include "store/database_stash.h"
#include "store/file_source.h"
#include "store/profile_file.h"

void input_runs_release(struct input_runs *runs)
{
	for (size_t i = 0; i < runs->count; i++)
		free(runs->titles[i]);
	free(runs->titles);
	input_release(&runs->whole);
	*runs = (struct input_runs){ 0 };
}

struct reading {
	const struct input_options *options;
	struct input_runs *runs;
	size_t capacity; /* of titles */
	size_t left_out;
};

static int out_of_memory(struct error *err)
{
	return error_set(err, -ENOMEM, "out of memory reading profiles");
}

/* Merges one more run, which takes the title. */
static int add_run(struct reading *reading, struct profile *profile, char *title, struct error *err)
{
	struct input_runs *runs = reading->runs;
	if (!title || array_reserve(&runs->titles, &reading->capacity, runs->count,
				    sizeof(*runs->titles)) < 0) {
		free(title);
		return out_of_memory(err);
	}
	runs->titles[runs->count++] = title;
	int ret = profile_mark_run(profile, runs->count, err);
	if (ret == 0)
		ret = profile_merge(runs->whole.profile, profile, err);
	if (ret == -ENOMEM)
		return error_set(err, ret, "out of memory merging '%s'", title);
	return ret < 0 ? error_prefix(err, "'%s' does not go with the others", title) : 0;
}

static int read_file(struct reading *reading, const char *path, struct error *err)
{
	CLEANUP(profile_freep) struct profile *profile = NULL;
	int ret = input_read_profile(reading->options, path, &profile, err);
	return ret < 0 ? ret : add_run(reading, profile, strdup(foreign_name(path)), err);
}

/* ---- epochs */

static void note_left_out(void *context, const char *sentence)
{
	(void)context;
	message_warning("left out: %s; 'culprit check' says more", sentence);
}

static int read_epoch(struct reading *reading, const char *path, const struct database_entry *entry,
		      struct error *err)
{
	CLEANUP(profile_freep) struct profile *profile = NULL;
	struct profile_file_info info = { 0 };
	char *title = NULL;
	const char *fault = entry->fault;
	struct error cause = { 0 };
	int ret = entry->readable ? profile_file_read_unlinked(entry->path, &profile, &info, &cause)
				  : -EBADMSG;
	if (ret == -ENOMEM)
		return out_of_memory(err);
	if (ret < 0) {
		note_left_out(NULL, entry->readable ? cause.text : fault);
		return 0;
	}
	if (asprintf(&title, "%s: %s %s", path, entry->host, entry->epoch) < 0)
		title = NULL;
	return add_run(reading, profile, title, err);
}

static int read_epochs(struct reading *reading, const char *path, struct error *err)
{
	CLEANUP(database_list_release) struct database_list list = { 0 };
	struct database_selection selection;
	int ret = input_selection(reading->options, path, &selection, err);
	if (ret == 0)
		ret = database_list(path, &selection, &list, err);
	if (ret == 0 && list.count == 0)
		return error_set(err, -ENOENT, "database '%s' has no such epoch", path);
	for (size_t i = 0; ret == 0 && i < list.count; i++)
		ret = read_epoch(reading, path, &list.entries[i], err);
	return ret < 0 ? ret
		       : database_join_stash(path, note_left_out, NULL,
					     reading->runs->whole.profile, err);
}

/* ---- the whole */

static bool is_database(const char *path)
{
	struct stat status;
	return strcmp(path, "-") != 0 && stat(path, &status) == 0 && S_ISDIR(status.st_mode) &&
	       !file_source_is_open_folder(path);
}

static int read_all(struct reading *reading, const char *const *paths, size_t count,
		    enum input_epochs epochs, struct error *err)
{
	struct input *whole = &reading->runs->whole;
	whole->profile = profile_new();
	whole->title = input_title(paths, count);
	if (!whole->profile || !whole->title)
		return out_of_memory(err);
	for (size_t i = 0; i < count; i++) {
		bool apart = epochs == INPUT_EPOCHS_ARE_RUNS && is_database(paths[i]);
		int ret = apart ? read_epochs(reading, paths[i], err)
				: read_file(reading, paths[i], err);
		if (ret < 0)
			return ret;
	}
	return input_check_sums(whole->profile, whole->title, err);
}

int input_read_runs(const struct input_options *options, char *const *arguments, size_t count,
		    enum input_epochs epochs, struct input_runs *runs)
{
	*runs = (struct input_runs){ 0 };
	struct reading reading = { .options = options, .runs = runs };
	struct error err = { 0 };
	int status = limits_open(options->limits);
	if (status)
		return status;
	size_t all = options->files.count + count;
	if (all == 0)
		return 0;
	CLEANUP(free_pointer) const char **paths = calloc(all, sizeof(*paths));
	if (!paths)
		return message_failure(
			&(struct error){ -ENOMEM, "out of memory reading profiles" });
	for (size_t i = 0; i < options->files.count; i++)
		paths[i] = options->files.items[i];
	for (size_t i = 0; i < count; i++)
		paths[options->files.count + i] = arguments[i];
	int ret = read_all(&reading, paths, all, epochs, &err);
	if (ret == 0)
		return 0;
	input_runs_release(runs);
	return input_failed(ret, &err);
}
