#include "store/database.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "store/database_epochs.h"
#include "store/database_folder.h"
#include "store/database_lock.h"
#include "store/database_stash.h"
#include "store/epoch.h"

/* How long an epoch's end may wait for whoever removes packs. */
#define LOCK_PATIENCE_NS UINT64_C(10000000000)
#define MOST_ASIDE	 1000 /* damaged leftovers of one name */

static bool is_folder(const char *path)
{
	struct stat found;
	return lstat(path, &found) == 0 && S_ISDIR(found.st_mode);
}

static bool has_epochs(const char *path)
{
	CLEANUP(names_release) struct names names = { 0 };
	if (!is_folder(path) || names_read(&names, path) < 0)
		return false;
	for (size_t i = 0; i < names.count; i++)
		if (epoch_name_ends_with(span_of_text(names.list[i]), EPOCH_CLOSED_ENDING) ||
		    epoch_name_ends_with(span_of_text(names.list[i]), EPOCH_OPEN_ENDING))
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

/* What closing an epoch of a database needs. */
struct closing {
	int lock;	 /* -1: not held */
	char database[]; /* its path */
};

static struct closing *closing_new(const char *database)
{
	struct closing *closing = malloc(sizeof(*closing) + strlen(database) + 1);
	if (!closing)
		return NULL;
	closing->lock = -1;
	strcpy(closing->database, database);
	return closing;
}

static size_t closing_bytes(const struct closing *closing)
{
	return sizeof(*closing) + strlen(closing->database) + 1;
}

/* Where the lock cannot be had, what packs are there may be about to go: all is written again. */
static int before_close(void *context, struct profile *profile, struct error *err)
{
	struct closing *closing = context;
	closing->lock =
		database_lock_images(closing->database, DATABASE_LOCK_SHARED, LOCK_PATIENCE_NS);
	enum stash_store how = closing->lock < 0 ? STASH_STORE_ALL : STASH_STORE_NEW;
	return database_store_stash(closing->database, how, profile, err);
}

static void after_close(void *context)
{
	struct closing *closing = context;
	if (closing->lock >= 0)
		close(closing->lock);
	closing->lock = -1;
}

/* What is done with a leftover that could not be closed. */
enum leftover_fate {
	LEFTOVER_WAITS, /* there is no room, or no memory, now: as for a new epoch */
	LEFTOVER_STAYS, /* it is another's, or of a newer version, or cannot be read now */
	LEFTOVER_MOVES, /* it is no epoch, or a damaged one */
};

/* Of what says nothing about the leftover itself the next attempt may know better. */
static enum leftover_fate fate_of(int code)
{
	if (epoch_leftover_is_damaged(code))
		return LEFTOVER_MOVES;
	switch (code) {
	case -ENOMEM:
	case -ENOSPC:
	case -EDQUOT:
	case -EROFS:
	case -EMFILE:
	case -ENFILE:
		return LEFTOVER_WAITS;
	default:
		return LEFTOVER_STAYS;
	}
}

/* Gives what lies at `open_path` a name that no epoch has: `stem`.damaged, or `stem`-2.damaged. 0
 * and that name, which the caller frees; or a negative errno value. */
static int move_aside(const char *open_path, const char *stem, char **aside)
{
	for (int i = 1; i <= MOST_ASIDE; i++) {
		CLEANUP(free_pointer) char *name = NULL;
		int made = i == 1 ? asprintf(&name, "%s" EPOCH_DAMAGED_ENDING, stem)
				  : asprintf(&name, "%s-%d" EPOCH_DAMAGED_ENDING, stem, i);
		if (made < 0) {
			name = NULL;
			return -ENOMEM;
		}
		if (renameat2(AT_FDCWD, open_path, AT_FDCWD, name, RENAME_NOREPLACE) == 0) {
			*aside = name;
			name = NULL; /* the caller's from here on */
			return 0;
		}
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

/* A leftover that cannot be closed stops no new epoch, unless what stops it would stop that, too.
 * It keeps its bytes, and that is said. */
static int pass_over(const struct database_listener *listener, const char *open_path,
		     const char *stem, struct error *err)
{
	CLEANUP(free_pointer) char *aside = NULL;
	char sentence[sizeof(err->text) + 512];
	enum leftover_fate fate = fate_of(err->code);
	if (fate == LEFTOVER_WAITS)
		return err->code;
	int ret = fate == LEFTOVER_MOVES ? move_aside(open_path, stem, &aside) : -EPERM;
	if (ret == -ENOENT)
		return 0; /* another recorder has closed it, or moved it */
	if (ret == 0)
		snprintf(sentence, sizeof(sentence),
			 "%s; it is kept as '%s', and no report has it: 'culprit check %s' says "
			 "what is left of it",
			 err->text, aside, aside);
	else
		snprintf(sentence, sizeof(sentence),
			 "%s; '%s' stays as it is, and whoever may write there can move it away",
			 err->text, open_path);
	if (listener && listener->say)
		listener->say(listener->context,
			      ret == 0 ? DATABASE_LEFTOVER_MOVED : DATABASE_LEFTOVER_STAYS,
			      sentence);
	return 0;
}

/* Closes the open epoch of a killed writer, unless it lives. */
static int close_leftover(const char *folder, const char *name, struct closing *closing,
			  const struct database_listener *listener, struct error *err)
{
	CLEANUP(free_pointer) char *open_path = database_below(folder, name);
	CLEANUP(free_pointer) char *stem = NULL;
	CLEANUP(free_pointer) char *path = NULL;
	struct error reason = { 0 };
	if (open_path)
		stem = strndup(open_path, strlen(open_path) - strlen(EPOCH_OPEN_ENDING));
	if (!stem || asprintf(&path, "%s" EPOCH_CLOSED_ENDING, stem) < 0) {
		path = NULL;
		return database_failed(err, -ENOMEM, folder);
	}
	const struct epoch_options options = { .earlier = EPOCH_REFUSE,
					       .mode = DATABASE_FILE_MODE,
					       .open_path = open_path,
					       .before_close = before_close,
					       .after_close = after_close,
					       .context = closing };
	int ret = epoch_close_leftover(path, &options, &reason);
	if (ret == 0 || ret == -EBUSY)
		return 0;
	reason.code = ret;
	ret = pass_over(listener, open_path, stem, &reason);
	if (ret < 0 && err)
		*err = reason;
	return ret;
}

/* Closes the open epochs of killed writers in a host's folder. */
static int close_leftovers(const char *database, const char *folder,
			   const struct database_listener *listener, struct error *err)
{
	CLEANUP(names_release) struct names names = { 0 };
	CLEANUP(free_pointer) struct closing *closing = closing_new(database);
	int ret = closing ? names_read(&names, folder) : -ENOMEM;
	if (ret < 0)
		return database_failed(err, ret, folder);
	for (size_t i = 0; ret == 0 && i < names.count; i++)
		if (epoch_name_ends_with(span_of_text(names.list[i]), EPOCH_OPEN_ENDING))
			ret = close_leftover(folder, names.list[i], closing, listener, err);
	return ret;
}

static int open_named(const char *database, const char *folder, const char *name,
		      struct epoch **out, struct error *err)
{
	CLEANUP(free_pointer) char *path = NULL;
	CLEANUP(free_pointer) char *open_path = NULL;
	CLEANUP(free_pointer) struct closing *closing = closing_new(database);
	if (!closing || asprintf(&path, "%s/%s" EPOCH_CLOSED_ENDING, folder, name) < 0 ||
	    asprintf(&open_path, "%s/%s" EPOCH_OPEN_ENDING, folder, name) < 0)
		return database_failed(err, -ENOMEM, folder);
	const struct epoch_options options = { .earlier = EPOCH_REFUSE,
					       .mode = DATABASE_FILE_MODE,
					       .open_path = open_path,
					       .before_close = before_close,
					       .after_close = after_close,
					       .context = closing,
					       .context_bytes = closing_bytes(closing) };
	return epoch_open_with(path, &options, out, err);
}

int database_open_epoch(const char *database, const char *host, uint64_t start_ns,
			struct epoch **out, struct error *err)
{
	return database_open_epoch_with(database, host, start_ns, NULL, out, err);
}

int database_open_epoch_with(const char *database, const char *host, uint64_t start_ns,
			     const struct database_listener *listener, struct epoch **out,
			     struct error *err)
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
		ret = close_leftovers(database, folder, listener, err);
	char stem[EPOCH_STEM_BYTES];
	epoch_name_stem(start_ns, stem);
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
