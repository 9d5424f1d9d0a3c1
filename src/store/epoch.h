/*
 * epoch - a profile that is being collected: the folder `PATH.open` on disk
 * (open_folder.h), which every merge brings up to date and syncs, and which
 * becomes the closed file PATH at the end. A crash loses what came since the last
 * merge and nothing else.
 *
 * One process writes an open epoch; others may read it (profile_file_read). An
 * epoch belongs to one thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/span.h"

struct error;
struct epoch;
struct profile;
struct profile_waiter;

enum epoch_earlier {
	EPOCH_KEEP_OLD, /* an existing PATH becomes PATH.old when the new one is closed */
	EPOCH_REFUSE, /* an existing PATH is an error (-EEXIST): database epochs have fresh names */
};

/*
 * Makes `path`.open. A leftover of a killed recording is first closed as what
 * it was (it is then PATH, marked BILL_CUT_OFF in its bill, and becomes
 * PATH.old in turn). Fails, with nothing changed, when another process is
 * writing it (-EBUSY), PATH.open, PATH or PATH.old is another user's (-EPERM), or
 * the folder or name can't be used (a FIFO, a folder, read-only, full).
 */
int epoch_open(const char *path, enum epoch_earlier earlier, struct epoch **out, struct error *err);

/* For databases: another mode for the files, and a call before a profile is closed. */
struct epoch_options {
	enum epoch_earlier earlier;
	mode_t mode;	       /* 0: 0600 */
	const char *open_path; /* of the open folder; NULL: PATH.open */
	/*
	 * Called with the profile that is about to be written, also a leftover's, and before that
	 * with what epoch_merge_last() adds to it; may change it. 0 or a negative errno value with
	 * *err, and then nothing is closed.
	 */
	int (*before_close)(void *context, struct profile *profile, struct error *err);
	/* Called after each before_close(), once the closed file is there or cannot be written. */
	void (*after_close)(void *context);
	void *context;
	size_t context_bytes; /* of *context, which is copied unless this is 0 */
};
int epoch_open_with(const char *path, const struct epoch_options *options, struct epoch **out,
		    struct error *err);

/*
 * Closes the leftover at `path`.open as epoch_open() would, without beginning
 * anew. 0 also when there is none; -EBUSY when it has a living writer.
 */
int epoch_close_leftover(const char *path, const struct epoch_options *options, struct error *err);
/* Whether such an error says that what is there is no epoch, or a damaged one, and not what keeps
 * it from being closed now. */
bool epoch_leftover_is_damaged(int code);

/*
 * Adds `delta` and makes it durable before it returns. On failure (disk full)
 * the file still holds everything merged before, and the epoch keeps the delta
 * in memory, so that a later merge or the closing writes it. Only when memory runs out
 * while the delta is added can the epoch not go on: from then on epoch_merge() and
 * epoch_close() fail, and the file holds what was merged before.
 */
int epoch_merge(struct epoch *epoch, const struct profile *delta, struct error *err);

/*
 * As epoch_merge(), of the last delta before the epoch is closed. Its stash, the larger part of it,
 * is handed to before_close() (a database has it elsewhere) instead of being kept and written
 * twice; what that leaves, or cannot do, is merged as usual. Changes the delta.
 */
int epoch_merge_last(struct epoch *epoch, struct profile *delta, struct error *err);

/*
 * Puts labels (profile/source_labels.h, lines of text) on the epoch, beside those that it has: on
 * all that it holds and on what is merged later. Durable before it returns. On failure (disk full)
 * the epoch remembers them all the same, and a later merge or the closing writes them.
 */
int epoch_label(struct epoch *epoch, struct span labels, struct error *err);

/* Adds `delta` in memory alone; the next epoch_merge(), or the closing, writes it. Fails as that when
 * memory runs out. */
int epoch_hold(struct epoch *epoch, const struct profile *delta, struct error *err);

/* All that was merged, for reports while collecting. Owned by the epoch. */
const struct profile *epoch_profile(const struct epoch *epoch);

/*
 * Writes the closed file, removes the open folder and frees the epoch. On failure the
 * epoch is freed too and the open folder stays, with one exception (EPOCH_KEEP_OLD): when
 * something that cannot be replaced came to have PATH's name, the closed file gets
 * another name, which *err gives, and the error is returned all the same.
 */
int epoch_close(struct epoch *epoch, struct error *err);

/* As epoch_close(), but once `waiter` (profile_writer.h; may be NULL) is gone it returns -ECANCELED
 * and the open folder stays. */
int epoch_close_for(const struct profile_waiter *waiter, struct epoch *epoch, struct error *err);

/*
 * As epoch_close_for(), but while the closed file cannot be written the epoch stays as it was, to
 * be closed again: on a disk that is full now. *epoch becomes NULL once it is freed.
 */
int epoch_try_close(const struct profile_waiter *waiter, struct epoch **epoch, struct error *err);

/* Frees the epoch and removes the open folder: nothing was recorded. */
void epoch_discard(struct epoch *epoch);

/* Frees the epoch and leaves the open folder, as a crash would. */
void epoch_abandon(struct epoch *epoch);
