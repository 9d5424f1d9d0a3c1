#include "store/epoch_private.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "profile/bill.h"
#include "profile/profile.h"
#include "profile/source_labels.h"
#include "profile/stash.h"
#include "store/output_folder.h"
#include "store/passing_name.h"
#include "store/profile_file.h"
#include "store/profile_header.h"
#include "store/replace_file.h"

/* When several recordings begin under one name at once, one gets it: the others see that after a
 * few attempts. */
#define BEGIN_ATTEMPTS 5

static void epoch_free(struct epoch *epoch)
{
	if (!epoch)
		return;
	profile_writer_release(&epoch->writer);
	sqlite3_close(epoch->db);
	for (size_t i = 0; i < epoch->stored_count; i++)
		free(epoch->stored[i].changed);
	free(epoch->stored);
	profile_free(epoch->profile);
	free(epoch->path);
	free(epoch->own_context);
	buffer_release(&epoch->labels);
	open_folder_release(&epoch->folder);
	free(epoch);
}

static void epoch_freep(struct epoch **epoch)
{
	epoch_free(*epoch);
}

/* ---- a leftover */

static bool is_empty(const struct profile *profile)
{
	for (size_t i = 0; i < profile->table_count; i++)
		if (profile->tables[i]->count)
			return false;
	return true;
}

/* Whether `path` is this very profile: its writer died after closing and before cleaning up. */
static bool is_closed_already(const char *path, const struct profile *profile)
{
	CLEANUP(profile_freep) struct profile *closed = NULL;
	CLEANUP(buffer_release) struct buffer left = { 0 };
	CLEANUP(buffer_release) struct buffer right = { 0 };
	struct stat found;
	if (lstat(path, &found) < 0 || !S_ISREG(found.st_mode) || found.st_uid != geteuid() ||
	    profile_file_read(path, &closed, NULL, NULL) < 0)
		return false;
	return profile_file_encode(profile, &left, NULL) == 0 &&
	       profile_file_encode(closed, &right, NULL) == 0 && left.size == right.size &&
	       memcmp(left.data, right.data, left.size) == 0;
}

static int prepare_closing(const struct epoch_options *options, struct profile *profile,
			   struct error *err)
{
	return options->before_close ? options->before_close(options->context, profile, err) : 0;
}

static void end_closing(const struct epoch_options *options)
{
	if (options->after_close)
		options->after_close(options->context);
}

static int write_closed(const char *path, const struct epoch_options *options,
			const struct profile *profile, const struct profile_waiter *waiter,
			struct error *err)
{
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	int ret = profile_file_encode_for(waiter, profile, &bytes, err);
	if (ret < 0)
		return ret;
	return replace_file(path, bytes.data, bytes.size, options->mode ? options->mode : 0600,
			    options->earlier == EPOCH_REFUSE ? REPLACE_REFUSE : REPLACE_KEEP, err);
}

static int close_as_cut_off(const char *path, struct open_folder *folder,
			    const struct epoch_options *options, struct error *err)
{
	CLEANUP(profile_freep) struct profile *profile = NULL;
	if (folder->profile < 0) {
		int removed = open_folder_remove(folder, err);
		return removed == -ENOTEMPTY ? error_set(err, removed,
							 "'%s' is no open profile: other "
							 "files are in it",
							 folder->path)
					     : removed;
	}
	int ret = profile_file_read_folder(folder->folder, folder->path, &profile, err);
	if (ret < 0) {
		error_prefix(err, "the recording that was cut off before cannot be closed");
		return ret;
	}
	if (is_empty(profile))
		return open_folder_remove(folder, err);
	ret = prepare_closing(options, profile, err);
	if (ret == 0 && !is_closed_already(path, profile)) {
		ret = profile_add_bill(profile, 0, OPTIONAL_ABSENT, BILL_CUT_OFF, 1);
		/* Somebody may have closed it so, and been killed before it was gone. */
		if (ret < 0)
			epoch_failed(err, ret, path);
		else if (!is_closed_already(path, profile))
			ret = write_closed(path, options, profile, NULL, err);
	}
	end_closing(options);
	return ret < 0 ? ret : open_folder_remove(folder, err);
}

static char *open_path_of(const char *path, const struct epoch_options *options)
{
	char *made = NULL;
	if (options->open_path)
		return strdup(options->open_path);
	return asprintf(&made, "%s.open", path) < 0 ? NULL : made;
}

bool epoch_leftover_is_damaged(int code)
{
	switch (code) {
	case -EBADMSG:
	case -EPROTO:
	case -EFBIG: /* larger than any that is read */
	case -EEXIST:
	case -ENOTDIR:
	case -EISDIR:
	case -ELOOP:
	case -ENXIO:
	case -ENOTEMPTY:
	case -EINVAL:
		return true;
	default:
		return false;
	}
}

int epoch_close_leftover(const char *path, const struct epoch_options *options, struct error *err)
{
	CLEANUP(free_pointer) char *open_path = open_path_of(path, options);
	CLEANUP(open_folder_release) struct open_folder folder = OPEN_FOLDER_NONE;
	if (!open_path)
		return epoch_failed(err, -ENOMEM, path);
	int ret = open_folder_reopen(open_path, &folder, err);
	if (ret < 0)
		return ret == -ENOENT ? 0 : ret;
	return close_as_cut_off(path, &folder, options, err);
}

/* The first bytes of an open file: an empty profile whose header says WAL mode. */
static int encode_empty(const struct epoch *epoch, struct buffer *bytes, struct error *err)
{
	int ret = profile_file_encode(epoch->profile, bytes, err);
	if (ret == 0)
		profile_header_expect_log(bytes->data);
	return ret;
}

static int open_database(struct epoch *epoch, struct error *err)
{
	int code = open_folder_sqlite(&epoch->folder, &epoch->db);
	if (code != SQLITE_OK)
		return epoch_sqlite_failed(epoch, code, err);
	profile_writer_init(&epoch->writer, epoch->db);
	epoch->writer.coder.level = CHUNK_LEVEL_OPEN;
	return 0;
}

/* Makes the open folder, after closing a leftover of that name. */
static int make_open_folder(struct epoch *epoch, const char *open_path, struct error *err)
{
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	mode_t mode = epoch->options.mode ? epoch->options.mode : 0600;
	int ret = encode_empty(epoch, &bytes, err);
	for (int i = 0; ret == 0 && i < BEGIN_ATTEMPTS; i++) {
		ret = epoch_close_leftover(epoch->path, &epoch->options, err);
		if (epoch_leftover_is_damaged(ret))
			error_prefix(err, "move '%s' away to record here", open_path);
		if (ret < 0)
			return ret;
		ret = open_folder_make(open_path, mode, bytes.data, bytes.size, &epoch->folder,
				       err);
		if (ret != -EEXIST)
			return ret;
		ret = 0; /* another process made one in between */
	}
	return ret < 0 ? ret
		       : error_set(err, -EBUSY,
				   "cannot write '%s': another process makes it again and again",
				   open_path);
}

int epoch_open_with(const char *path, const struct epoch_options *options, struct epoch **out,
		    struct error *err)
{
	int ret = replace_file_check(
		path, options->earlier == EPOCH_REFUSE ? REPLACE_REFUSE : REPLACE_KEEP, err);
	if (ret < 0)
		return ret;
	struct stat found;
	if (options->earlier == EPOCH_REFUSE && lstat(path, &found) == 0)
		return epoch_failed(err, -EEXIST, path);
	CLEANUP(epoch_freep) struct epoch *epoch = calloc(1, sizeof(*epoch));
	if (!epoch)
		return epoch_failed(err, -ENOMEM, path);
	epoch->folder = (struct open_folder)OPEN_FOLDER_NONE;
	epoch->options = *options;
	if (options->context_bytes) {
		epoch->own_context = malloc(options->context_bytes);
		if (!epoch->own_context)
			return epoch_failed(err, -ENOMEM, path);
		memcpy(epoch->own_context, options->context, options->context_bytes);
		epoch->options.context = epoch->own_context;
	}
	epoch->path = strdup(path);
	epoch->profile = profile_new();
	CLEANUP(free_pointer) char *open_path = open_path_of(path, options);
	epoch->options.open_path = open_path;
	if (!epoch->path || !epoch->profile || !open_path)
		return epoch_failed(err, -ENOMEM, path);
	ret = make_open_folder(epoch, open_path, err);
	epoch->options.open_path = NULL; /* from here on epoch->folder has it */
	if (ret == 0)
		ret = open_database(epoch, err);
	if (ret == 0)
		ret = epoch_store(epoch, err);
	if (ret < 0) {
		if (epoch->folder.path)
			open_folder_remove(&epoch->folder, NULL);
		return ret;
	}
	*out = epoch;
	epoch = NULL; /* the caller's from here on */
	return 0;
}

int epoch_open(const char *path, enum epoch_earlier earlier, struct epoch **out, struct error *err)
{
	const struct epoch_options options = { .earlier = earlier };
	return epoch_open_with(path, &options, out, err);
}

/* Gives the epoch's labels to sources that lack them. The file then has other rows of that table
 * than the profile, and is to write them all. */
static int put_labels(struct epoch *epoch)
{
	const struct span labels = { epoch->labels.data, epoch->labels.size };
	bool changed;
	int ret = profile_label_sources(epoch->profile, labels, &changed);
	return ret == 0 && changed ? epoch_note_row(epoch, PROFILE_SOURCE, 0) : ret;
}

int epoch_label(struct epoch *epoch, struct span labels, struct error *err)
{
	if (epoch->broken)
		return epoch_failed(err, epoch->broken, epoch->folder.path);
	CLEANUP(buffer_release) struct buffer joined = { 0 };
	source_labels_join((struct span){ epoch->labels.data, epoch->labels.size }, labels,
			   &joined);
	if (buffer_failed(&joined))
		return epoch_failed(err, -ENOMEM, epoch->folder.path);
	const struct buffer before = epoch->labels;
	epoch->labels = joined;
	joined = before; /* released in its place */
	epoch->broken = put_labels(epoch);
	if (epoch->broken < 0)
		return epoch_failed(err, epoch->broken, epoch->folder.path);
	return profile_table(epoch->profile, PROFILE_SOURCE)->count ? epoch_store(epoch, err) : 0;
}

int epoch_hold(struct epoch *epoch, const struct profile *delta, struct error *err)
{
	if (epoch->broken)
		return epoch_failed(err, epoch->broken, epoch->folder.path);
	int ret = profile_merge_noting(epoch->profile, delta, epoch_note_row, epoch, err);
	if (ret == 0 && epoch->labels.size && put_labels(epoch) < 0)
		ret = epoch_failed(err, -ENOMEM, epoch->folder.path);
	epoch->broken = ret;
	return ret;
}

int epoch_merge(struct epoch *epoch, const struct profile *delta, struct error *err)
{
	int ret = epoch_hold(epoch, delta, err);
	return ret < 0 ? ret : epoch_store(epoch, err);
}

/* Merges all but the stash: the samples are safe before anything else is tried. */
static int merge_without_stash(struct epoch *epoch, struct profile *delta, struct table *none,
			       struct error *err)
{
	struct table *stash = delta->tables[PROFILE_STASH];
	delta->tables[PROFILE_STASH] = none;
	int ret = epoch_merge(epoch, delta, err);
	delta->tables[PROFILE_STASH] = stash;
	return ret;
}

int epoch_merge_last(struct epoch *epoch, struct profile *delta, struct error *err)
{
	struct table *stash = delta->tables[PROFILE_STASH];
	struct error untold;
	if (!epoch->options.before_close || !stash->count)
		return epoch_merge(epoch, delta, err);
	struct table *none = table_new_like(stash);
	if (!none)
		return epoch_merge(epoch, delta, err);
	int ret = merge_without_stash(epoch, delta, none, err);
	table_free(none);
	if (epoch->broken)
		return ret;
	if (ret == 0) {
		/* The images are those of an open epoch by now, so that nobody removes what is
		 * stored. Where it cannot be, the closing tries again, and says why not. */
		prepare_closing(&epoch->options, delta, &untold);
		end_closing(&epoch->options);
		if (!stash->count)
			return 0;
	}
	epoch->broken = stash_copy(epoch->profile, delta);
	return epoch->broken ? epoch_failed(err, epoch->broken, epoch->folder.path)
			     : epoch_store(epoch, err);
}

const struct profile *epoch_profile(const struct epoch *epoch)
{
	return epoch->profile;
}

/* Whether an error says that something else has the name, and not that the folder is full or gone.
 */
static bool is_in_the_way(int code)
{
	return code == -EPERM || code == -EISDIR || code == -ENXIO || code == -ENOTDIR ||
	       code == -ENOTEMPTY || code == -EEXIST;
}

/*
 * Writes the closed file under another name, when something took its name since the recording
 * began; appends that name to the sentence in `err`.
 */
static int write_elsewhere(const struct epoch *epoch, struct error *err)
{
	struct epoch_options options = epoch->options;
	char name[PASSING_NAME_BYTES];
	CLEANUP(free_pointer) char *path = NULL;
	const char *base = output_base_name(epoch->path);
	options.earlier = EPOCH_REFUSE;
	if (passing_name_make(base, ".", name) < 0 ||
	    asprintf(&path, "%.*s%s", (int)(base - epoch->path), epoch->path, name) < 0)
		return epoch_failed(err, -ENOMEM, epoch->path);
	int ret = write_closed(path, &options, epoch->profile, NULL, NULL);
	if (ret == 0 && err)
		snprintf(err->text + strlen(err->text), sizeof(err->text) - strlen(err->text),
			 "; the profile is '%s' instead", path);
	return ret;
}

int epoch_close(struct epoch *epoch, struct error *err)
{
	return epoch_close_for(NULL, epoch, err);
}

int epoch_try_close(const struct profile_waiter *waiter, struct epoch **trying, struct error *err)
{
	struct epoch *epoch = *trying;
	struct error unwanted;
	err = err ? err : &unwanted;
	if (epoch->broken)
		return epoch_failed(err, epoch->broken, epoch->path);
	int written = prepare_closing(&epoch->options, epoch->profile, err);
	if (written == 0)
		written = write_closed(epoch->path, &epoch->options, epoch->profile, waiter, err);
	/* An attempt before may have failed only when the file was there. */
	if (written == -EEXIST && is_closed_already(epoch->path, epoch->profile))
		written = 0;
	end_closing(&epoch->options);
	if (written < 0 && (epoch->options.earlier != EPOCH_KEEP_OLD || !is_in_the_way(written) ||
			    write_elsewhere(epoch, err) < 0))
		return written;
	profile_writer_release(&epoch->writer);
	sqlite3_close(epoch->db);
	epoch->db = NULL;
	int ret = open_folder_remove(&epoch->folder, written < 0 ? NULL : err);
	epoch_free(epoch);
	*trying = NULL;
	return written < 0 ? written : ret;
}

int epoch_close_for(const struct profile_waiter *waiter, struct epoch *epoch, struct error *err)
{
	int ret = epoch_try_close(waiter, &epoch, err);
	epoch_free(epoch);
	return ret;
}

void epoch_discard(struct epoch *epoch)
{
	CLEANUP(epoch_freep) struct epoch *closing = epoch;
	profile_writer_release(&epoch->writer);
	sqlite3_close(epoch->db);
	epoch->db = NULL;
	open_folder_remove(&epoch->folder, NULL);
}

void epoch_abandon(struct epoch *epoch)
{
	epoch_free(epoch);
}
