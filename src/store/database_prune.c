#include "store/database_prune.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "store/database_damaged.h"
#include "store/database_folder.h"
#include "store/database_lock.h"
#include "store/database_uses.h"
#include "store/open_folder.h"
#include "store/replace_file.h"

#define LOCK_PATIENCE_NS UINT64_C(2000000000)
#define STALE_SECONDS	 86400 /* what a killed writer left goes when it is that old */

/* One call of database_prune(). */
struct pruning {
	const char *database;
	const struct database_retention *retention;
	struct database_pruned *pruned;
	struct database_uses uses;
	struct damaged_epochs damaged;
	bool *chosen;	      /* by position in uses.epochs */
	bool *chosen_damaged; /* likewise in damaged.list */
	uint64_t now_ns;
};

static void pruning_release(struct pruning *pruning)
{
	database_uses_release(&pruning->uses);
	damaged_epochs_release(&pruning->damaged);
	free(pruning->chosen);
	free(pruning->chosen_damaged);
}

static void note(const struct pruning *pruning, const char *sentence)
{
	if (pruning->retention->note)
		pruning->retention->note(pruning->retention->context, sentence);
}

static void tell(const struct pruning *pruning, const struct database_removal *removal)
{
	if (pruning->retention->removed)
		pruning->retention->removed(pruning->retention->context, removal);
}

static uint64_t before(uint64_t now_ns, uint64_t age_ns)
{
	return now_ns > age_ns ? now_ns - age_ns : 0;
}

/* ---- choosing */

static bool may_go(const struct used_epoch *epoch)
{
	return epoch->is_ours && !epoch->has_writer;
}

/* The last epochs of each host may not go, whatever else holds. */
static void keep_last(struct pruning *pruning, bool *kept)
{
	const struct database_uses *uses = &pruning->uses;
	for (size_t i = 0; i < uses->host_count; i++) {
		size_t left = DATABASE_KEPT_EPOCHS;
		for (size_t j = uses->count; j-- > 0 && left;)
			if (uses->epochs[j].host == uses->hosts[i]) {
				kept[j] = true;
				left--;
			}
	}
}

static uint64_t all_bytes(const struct pruning *pruning)
{
	const struct database_uses *uses = &pruning->uses;
	uint64_t bytes = 0;
	for (size_t i = 0; i < pruning->damaged.count; i++)
		bytes += pruning->damaged.list[i].bytes;
	for (size_t i = 0; i < uses->count; i++)
		bytes += uses->epochs[i].bytes;
	for (size_t i = 0; i < uses->image_count; i++)
		bytes += uses->images[i].bytes;
	return bytes;
}

/* Of packs that are nobody's already. */
static uint64_t unused_bytes(const struct database_uses *uses)
{
	uint64_t bytes = 0;
	for (size_t i = 0; uses->complete && i < uses->image_count; i++)
		bytes += uses->images[i].users ? 0 : uses->images[i].old_bytes;
	return bytes;
}

/* Chooses an epoch. Returns the bytes that are free without it and the packs that it was the last
 * to need. */
static uint64_t choose(struct pruning *pruning, size_t i)
{
	struct used_epoch *epoch = &pruning->uses.epochs[i];
	uint64_t bytes = epoch->bytes;
	pruning->chosen[i] = true;
	for (size_t j = 0; j < epoch->image_count; j++) {
		struct used_image *image = &pruning->uses.images[epoch->images[j]];
		if (--image->users == 0 && pruning->uses.complete)
			bytes += image->old_bytes;
	}
	return bytes;
}

/* Marks what is too old of what is damaged, and the oldest of the rest until all fits. Returns the
 * bytes that are free without it. */
static uint64_t choose_damaged(struct pruning *pruning, uint64_t left, uint64_t age_limit_ns)
{
	const struct database_retention *retention = pruning->retention;
	uint64_t grace_limit_ns = before(pruning->now_ns, retention->grace_ns), freed = 0;
	for (size_t i = 0; i < pruning->damaged.count; i++) {
		const struct damaged_epoch *epoch = &pruning->damaged.list[i];
		bool too_old = epoch->since_ns < age_limit_ns;
		bool too_much = retention->most_bytes && left - freed > retention->most_bytes;
		pruning->chosen_damaged[i] =
			epoch->since_ns < grace_limit_ns && (too_old || too_much);
		freed += pruning->chosen_damaged[i] ? epoch->bytes : 0;
	}
	return freed;
}

/* Marks what is too old, and the oldest of the rest until all fits. 0 or -ENOMEM. */
static int choose_all(struct pruning *pruning)
{
	const struct database_uses *uses = &pruning->uses;
	const struct database_retention *retention = pruning->retention;
	CLEANUP(free_pointer) bool *kept = calloc(uses->count + 1, sizeof(*kept));
	pruning->chosen = calloc(uses->count + 1, sizeof(*pruning->chosen));
	pruning->chosen_damaged =
		calloc(pruning->damaged.count + 1, sizeof(*pruning->chosen_damaged));
	if (!kept || !pruning->chosen || !pruning->chosen_damaged)
		return -ENOMEM;
	keep_last(pruning, kept);
	uint64_t left = all_bytes(pruning) - unused_bytes(uses);
	uint64_t age_limit_ns =
		retention->older_than_ns ? before(pruning->now_ns, retention->older_than_ns) : 0;
	left -= choose_damaged(pruning, left, age_limit_ns);
	for (size_t i = 0; i < uses->count; i++) {
		const struct used_epoch *epoch = &uses->epochs[i];
		bool too_old = epoch->end_ns < age_limit_ns;
		bool too_much = retention->most_bytes && left > retention->most_bytes &&
				!epoch->file.is_open;
		if (!kept[i] && may_go(epoch) && (too_old || too_much))
			left -= choose(pruning, i);
	}
	return 0;
}

/* ---- removing epochs */

static void remove_damaged(struct pruning *pruning)
{
	struct error err;
	for (size_t i = 0; i < pruning->damaged.count; i++) {
		const struct damaged_epoch *epoch = &pruning->damaged.list[i];
		if (!pruning->chosen_damaged[i])
			continue;
		if (!pruning->retention->dry_run &&
		    damaged_epoch_remove(pruning->database, epoch, &err) < 0) {
			note(pruning, err.text);
			continue;
		}
		const struct database_removal removal = { epoch->path, epoch->host, epoch->name,
							  epoch->bytes };
		pruning->pruned->damaged++;
		pruning->pruned->damaged_bytes += epoch->bytes;
		tell(pruning, &removal);
	}
}

/* A leftover of a killed writer, unless another has it by now. */
static int remove_open(const struct used_epoch *epoch, struct error *err)
{
	CLEANUP(open_folder_release) struct open_folder folder = OPEN_FOLDER_NONE;
	int ret = open_folder_reopen(epoch->file.path, &folder, err);
	if (ret < 0)
		return ret == -ENOENT ? 0 : ret;
	return open_folder_remove(&folder, err);
}

static int remove_closed(int folder, const struct used_epoch *epoch, struct error *err)
{
	struct stat found;
	const char *name = strrchr(epoch->file.path, '/') + 1;
	if (fstatat(folder, name, &found, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(found.st_mode))
		return 0; /* gone meanwhile, or what it was */
	if (unlinkat(folder, name, 0) == 0 || errno == ENOENT)
		return 0;
	return error_set(err, -errno, "cannot remove '%s': %s", epoch->file.path, strerror(errno));
}

static void count_epoch(struct pruning *pruning, const struct used_epoch *epoch)
{
	const struct database_removal removal = { epoch->file.path, epoch->host, epoch->file.name,
						  epoch->bytes };
	pruning->pruned->epochs++;
	pruning->pruned->epoch_bytes += epoch->bytes;
	tell(pruning, &removal);
}

/* Removes the chosen epochs of one host. What cannot be removed is told of. */
static void remove_of_host(struct pruning *pruning, const char *host)
{
	const struct database_uses *uses = &pruning->uses;
	bool dry = pruning->retention->dry_run;
	struct error err;
	bool any = false;
	for (size_t i = 0; i < uses->count; i++)
		any |= pruning->chosen[i] && uses->epochs[i].host == host;
	if (!any)
		return;
	CLEANUP(close_fd) int folder = database_open_below(pruning->database, host, NULL);
	if (folder < 0) {
		error_set(&err, folder, "cannot remove epochs in '%s/%s': %s", pruning->database,
			  host,
			  folder == -EPERM ? "the folder belongs to another user"
					   : strerror(-folder));
		note(pruning, err.text);
		return;
	}
	for (size_t i = 0; i < uses->count; i++) {
		const struct used_epoch *epoch = &uses->epochs[i];
		if (!pruning->chosen[i] || epoch->host != host)
			continue;
		int ret = dry			? 0
			  : epoch->file.is_open ? remove_open(epoch, &err)
						: remove_closed(folder, epoch, &err);
		if (ret == 0)
			count_epoch(pruning, epoch);
		else
			note(pruning, err.text);
	}
	if (!dry)
		replace_sync_folder(folder);
}

/* ---- removing packs */

static bool is_to_go(const struct used_image *image)
{
	return image->users == 0 && image->old_packs;
}

static bool any_to_go(const struct database_uses *uses)
{
	for (size_t i = 0; i < uses->image_count; i++)
		if (is_to_go(&uses->images[i]))
			return true;
	return false;
}

static bool is_old(const struct stat *found, uint64_t before_ns)
{
	return (uint64_t)found->st_ctim.tv_sec * 1000000000u + (uint64_t)found->st_ctim.tv_nsec <
	       before_ns;
}

/* Removes the old packs in a folder of DB/images, and the folder when it is empty. Returns how
 * many.
 */
static uint64_t remove_packs_in(struct pruning *pruning, const struct used_image *image,
				const char *path, uint64_t *bytes)
{
	CLEANUP(names_release) struct names names = { 0 };
	CLEANUP(close_fd)
	int folder = database_open_below(pruning->database, DATABASE_IMAGES, image->name);
	uint64_t old_ns = before(pruning->now_ns, pruning->retention->grace_ns), count = 0;
	if (folder < 0 || names_read(&names, path) < 0)
		return 0;
	for (size_t i = 0; i < names.count; i++) {
		struct stat found;
		const char *name = names.list[i];
		if (!database_is_pack_name(name) ||
		    fstatat(folder, name, &found, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !S_ISREG(found.st_mode) || !is_old(&found, old_ns) ||
		    unlinkat(folder, name, 0) < 0)
			continue;
		count++;
		*bytes += database_disk_bytes((uint64_t)found.st_size);
	}
	CLEANUP(close_fd)
	int images = database_open_below(pruning->database, DATABASE_IMAGES, NULL);
	if (images >= 0)
		unlinkat(images, image->name, AT_REMOVEDIR); /* fails unless it is empty */
	return count;
}

static int remove_packs_of(struct pruning *pruning, const struct used_image *image,
			   struct error *err)
{
	CLEANUP(free_pointer) char *path = NULL;
	uint64_t bytes = 0;
	if (asprintf(&path, "%s/" DATABASE_IMAGES "/%s", pruning->database, image->name) < 0)
		return database_failed(err, -ENOMEM, pruning->database);
	uint64_t packs = image->old_packs;
	if (pruning->retention->dry_run)
		bytes = image->old_bytes;
	else
		packs = remove_packs_in(pruning, image, path, &bytes);
	if (packs == 0)
		return 0;
	const struct database_removal removal = { path, NULL, NULL, bytes };
	pruning->pruned->packs += packs;
	pruning->pruned->pack_bytes += bytes;
	tell(pruning, &removal);
	return 0;
}

static int remove_unused(struct pruning *pruning, const struct database_uses *uses,
			 struct error *err)
{
	int ret = 0;
	if (!uses->complete) {
		struct error reason;
		error_set(&reason, 0,
			  "%.900s: the code that it needs is not known, so none is removed",
			  uses->incomplete);
		note(pruning, reason.text);
		return 0;
	}
	for (size_t i = 0; ret == 0 && i < uses->image_count; i++)
		if (is_to_go(&uses->images[i]))
			ret = remove_packs_of(pruning, &uses->images[i], err);
	return ret;
}

/* Looks again which packs nobody needs, while nobody closes an epoch, and removes them. */
static int remove_packs(struct pruning *pruning, struct error *err)
{
	if (!any_to_go(&pruning->uses))
		return 0;
	if (pruning->retention->dry_run)
		return remove_unused(pruning, &pruning->uses, err);
	CLEANUP(close_fd)
	int lock = database_lock_images(pruning->database, DATABASE_LOCK_ALONE, LOCK_PATIENCE_NS);
	if (lock < 0) {
		note(pruning, lock == -EBUSY
				      ? "an epoch is being closed: code that no other needs stays "
					"until the next time"
				      : "the database's file system has no locks: code that no "
					"epoch needs stays");
		return 0;
	}
	CLEANUP(database_uses_release) struct database_uses now = { 0 };
	int ret = database_uses_read(pruning->database,
				     before(pruning->now_ns, pruning->retention->grace_ns), &now,
				     err);
	return ret < 0 ? ret : remove_unused(pruning, &now, err);
}

/* ---- what killed writers left */

static void remove_stale(int folder, const char *path)
{
	CLEANUP(names_release) struct names names = { 0 };
	uint64_t old_ns = before(clock_realtime_ns(), STALE_SECONDS * UINT64_C(1000000000));
	if (folder < 0 || names_read(&names, path) < 0)
		return;
	for (size_t i = 0; i < names.count; i++) {
		struct stat found;
		if (fstatat(folder, names.list[i], &found, AT_SYMLINK_NOFOLLOW) == 0 &&
		    is_old(&found, old_ns))
			replace_remove_stale(folder, names.list[i]);
	}
}

/* Files under passing names, of epochs and packs that are begun under other names now. */
static void remove_all_stale(const struct pruning *pruning)
{
	const struct database_uses *uses = &pruning->uses;
	for (size_t i = 0; i < uses->host_count; i++) {
		CLEANUP(free_pointer)
		char *path = database_below(pruning->database, uses->hosts[i]);
		CLEANUP(close_fd)
		int folder = database_open_below(pruning->database, uses->hosts[i], NULL);
		if (path)
			remove_stale(folder, path);
	}
	for (size_t i = 0; i < uses->image_count; i++) {
		CLEANUP(free_pointer) char *path = NULL;
		CLEANUP(close_fd)
		int folder = database_open_below(pruning->database, DATABASE_IMAGES,
						 uses->images[i].name);
		if (asprintf(&path, "%s/" DATABASE_IMAGES "/%s", pruning->database,
			     uses->images[i].name) < 0)
			path = NULL;
		if (path)
			remove_stale(folder, path);
	}
}

static bool is_stopped(const struct database_retention *retention)
{
	return retention->stop && retention->stop(retention->context);
}

int database_prune(const char *database, const struct database_retention *retention,
		   struct database_pruned *pruned, struct error *err)
{
	*pruned = (struct database_pruned){ 0 };
	CLEANUP(pruning_release)
	struct pruning pruning = { .database = database,
				   .retention = retention,
				   .pruned = pruned,
				   .now_ns = retention->now_ns ? retention->now_ns
							       : clock_realtime_ns() };
	int ret = database_uses_read(database, before(pruning.now_ns, retention->grace_ns),
				     &pruning.uses, err);
	if (ret < 0)
		return ret;
	for (size_t i = 0; ret == 0 && i < pruning.uses.host_count; i++)
		ret = damaged_epochs_read(&pruning.damaged, database, pruning.uses.hosts[i]);
	if (ret == 0)
		ret = choose_all(&pruning);
	if (ret < 0)
		return database_failed(err, ret, database);
	if (!is_stopped(retention))
		remove_damaged(&pruning);
	for (size_t i = 0; i < pruning.uses.host_count && !is_stopped(retention); i++)
		remove_of_host(&pruning, pruning.uses.hosts[i]);
	if (!is_stopped(retention))
		ret = remove_packs(&pruning, err);
	if (!retention->dry_run && !is_stopped(retention))
		remove_all_stale(&pruning);
	pruned->left_bytes = all_bytes(&pruning) - pruned->damaged_bytes - pruned->epoch_bytes -
			     pruned->pack_bytes;
	pruned->fits = !retention->most_bytes || pruned->left_bytes <= retention->most_bytes;
	return ret;
}
