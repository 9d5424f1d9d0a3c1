/* Listing and reading the epochs of a database (database.h). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/sum.h"
#include "profile/bill.h"
#include "profile/profile.h"
#include "profile/source_labels.h"
#include "store/database.h"
#include "store/database_epochs.h"
#include "store/database_folder.h"
#include "store/database_replaced.h"
#include "store/database_stash.h"
#include "store/profile_file.h"

/* How often a database is read again from the start when epochs vanish that were listed: they were
 * made into one (database_compact.h), which is to be found then, or pruned. */
#define READ_ATTEMPTS 5

static void entry_release(struct database_entry *entry)
{
	free(entry->host);
	free(entry->epoch);
	free(entry->path);
	free(entry->labels);
}

void database_list_release(struct database_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		entry_release(&list->entries[i]);
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

static uint64_t end_of(uint64_t start_ns, uint64_t duration_ns)
{
	return start_ns > UINT64_MAX - duration_ns ? UINT64_MAX : start_ns + duration_ns;
}

/* Of sources whose start is known, if there are any: from the first start to the last end. */
static void note_times(const struct profile *profile, struct database_entry *entry)
{
	const struct table *source = profile_table(profile, PROFILE_SOURCE);
	uint64_t start_ns = 0, end_ns = 0, longest_ns = 0;
	for (size_t row = 0; row < source->count; row++) {
		const struct profile_source one = profile_source(profile, row);
		if (one.duration_ns > longest_ns)
			longest_ns = one.duration_ns;
		if (one.start_ns == 0)
			continue;
		if (start_ns == 0 || one.start_ns < start_ns)
			start_ns = one.start_ns;
		if (end_of(one.start_ns, one.duration_ns) > end_ns)
			end_ns = end_of(one.start_ns, one.duration_ns);
	}
	entry->start_ns = start_ns;
	entry->duration_ns = start_ns ? end_ns - start_ns : longest_ns;
}

/* All labels of all sources. 0 or -ENOMEM. */
static int note_labels(const struct profile *profile, struct database_entry *entry)
{
	const struct table *source = profile_table(profile, PROFILE_SOURCE);
	CLEANUP(buffer_release) struct buffer labels = { 0 };
	struct span last = { NULL, 0 };
	for (size_t row = 0; row < source->count; row++) {
		const struct span more = profile_source(profile, row).labels;
		if (span_equal(more, last))
			continue;
		last = more;
		CLEANUP(buffer_release) struct buffer before = labels;
		labels = (struct buffer){ 0 };
		source_labels_join((struct span){ before.data, before.size }, more, &labels);
	}
	free(entry->labels);
	entry->labels = strdup(buffer_text(&labels));
	return buffer_failed(&labels) || !entry->labels ? -ENOMEM : 0;
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

static void note_unsampled(const struct profile *profile, struct database_entry *entry)
{
	if (bill_sum(profile, BILL_UNSAMPLED_NS, &entry->unsampled_ns) &&
	    sum_passed(entry->unsampled_ns))
		entry->unsampled_ns = 0;
}

/* Whether the epoch's time is one that is wanted. */
static bool is_of_times(const struct database_entry *entry, const struct database_selection *wanted)
{
	uint64_t apart_ns = wanted->apart_ns;
	if (apart_ns && entry->start_ns < apart_ns &&
	    entry->duration_ns > apart_ns - entry->start_ns)
		return false;
	if (wanted->until_ns && entry->start_ns >= wanted->until_ns)
		return false;
	return !wanted->since_ns || entry->start_ns >= wanted->since_ns ||
	       entry->duration_ns > wanted->since_ns - entry->start_ns;
}

static bool has_wanted_label(const struct profile *profile, const struct database_selection *wanted)
{
	const struct table *source = profile_table(profile, PROFILE_SOURCE);
	for (size_t row = 0; row < source->count; row++)
		for (size_t i = 0; i < wanted->label_count; i++)
			if (source_labels_have(profile_source(profile, row).labels,
					       span_of_text(wanted->labels[i])))
				return true;
	return wanted->label_count == 0;
}

/* Called with each selected epoch. *profile is NULL unless the visitor wants whole profiles and
 * this one can be read; it stays the caller's. */
typedef int (*visit)(void *context, struct database_entry *entry, struct profile **profile,
		     struct error *err);

struct visitor {
	visit each;
	void *context;
	bool whole;	/* it wants whole profiles */
	bool adds_them; /* it adds them up: those that are in others are left out */
};

/* One host's folder while it is visited. */
struct walk {
	const struct database_selection *selection;
	const struct visitor *visitor;
	const char *host;
	struct replaced_set replaced; /* by epochs that were visited */
	bool vanished;		      /* an epoch that was listed was not there any more */
};

enum verdict { LOOK_TAKEN, LOOK_OUTSIDE, LOOK_REPLACED };

/* What the sources of an epoch say. A verdict or a negative errno value. */
static int judge(const struct walk *walk, struct database_entry *entry,
		 const struct profile *profile)
{
	note_times(profile, entry);
	if (!is_of_times(entry, walk->selection) || !has_wanted_label(profile, walk->selection))
		return LOOK_OUTSIDE;
	entry->replaced = replaced_has(&walk->replaced, profile, entry->epoch);
	if (note_labels(profile, entry) < 0)
		return -ENOMEM;
	return entry->replaced && walk->visitor->adds_them ? LOOK_REPLACED : LOOK_TAKEN;
}

/* An epoch that was made of others stands for them from here on. 0; or, where another one was made
 * of some of them, -EBADMSG with *reason: what both have would count twice. */
static int add_replacing(struct walk *walk, const struct database_entry *entry,
			 const struct profile *profile, struct error *reason)
{
	const char *other = replaced_overlap(&walk->replaced, profile, entry->epoch);
	if (other)
		return error_set(reason, -EBADMSG,
				 "'%s' was made of epochs of which some are in '%s', too: they "
				 "would count twice",
				 entry->path, other);
	return replaced_add(&walk->replaced, profile, entry->epoch);
}

/* Fills the entry, and *profile when the visitor wants it. A verdict, or a negative errno value
 * with *reason. */
static int look_at(struct walk *walk, struct database_entry *entry, struct profile **profile,
		   struct error *reason)
{
	const struct database_selection *selection = walk->selection;
	struct profile_file_info info = { 0 };
	CLEANUP(profile_freep) struct profile *sources = NULL;
	bool whole = walk->visitor->whole;
	bool first = !whole || selection->since_ns || selection->until_ns || selection->apart_ns ||
		     selection->label_count || walk->replaced.count;
	int ret = first ? profile_file_read_sources(entry->path, &sources, &info, reason) : 0;
	if (ret == 0 && sources)
		ret = judge(walk, entry, sources);
	if (ret == LOOK_TAKEN && whole) {
		ret = profile_file_read_unlinked(entry->path, profile, &info, reason);
		if (ret == 0)
			ret = judge(walk, entry, *profile);
		if (ret == 0) {
			count_samples(*profile, entry);
			note_unsampled(*profile, entry);
		}
	}
	if (ret == 0 && epoch_name_parse(entry->epoch, NULL) == EPOCH_NAME_COMPACTED)
		ret = add_replacing(walk, entry, *profile ? *profile : sources, reason);
	entry->readable = ret == 0;
	if (ret == 0) {
		entry->file_bytes = info.file_bytes;
		entry->being_written = info.being_written;
	}
	return ret == -ENOMEM ? database_failed(reason, ret, entry->path) : ret;
}

/* Looks at an epoch, or, when an open one was closed meanwhile, at what it became. */
static int look_at_either(struct walk *walk, const struct epoch_file *file,
			  struct database_entry *entry, struct profile **profile,
			  struct error *reason)
{
	int ret = look_at(walk, entry, profile, reason);
	if (ret != -ENOENT)
		return ret;
	if (file->is_open) {
		char *closed = epoch_closed_path(file);
		if (!closed)
			return database_failed(reason, -ENOMEM, file->path);
		free(entry->path);
		entry->path = closed;
		entry->is_open = false;
		/* not there either: nothing was recorded */
		return look_at(walk, entry, profile, reason);
	}
	walk->vanished = true;
	return ret;
}

static int visit_epoch(struct walk *walk, const struct epoch_file *file, struct error *err)
{
	CLEANUP(entry_release)
	struct database_entry entry = { .host = strdup(walk->host),
					.epoch = strdup(file->name),
					.path = strdup(file->path),
					.is_open = file->is_open,
					.is_link = file->is_link,
					.file_bytes = file->bytes };
	CLEANUP(profile_freep) struct profile *profile = NULL;
	struct error reason = { 0 };
	if (!entry.host || !entry.epoch || !entry.path)
		return database_failed(err, -ENOMEM, file->path);
	int ret = look_at_either(walk, file, &entry, &profile, &reason);
	if (ret == -ENOENT || ret == LOOK_OUTSIDE || ret == LOOK_REPLACED)
		return 0;
	if (ret == -ENOMEM) {
		*err = reason;
		return ret;
	}
	snprintf(entry.fault, sizeof(entry.fault), "%.*s", (int)sizeof(entry.fault) - 1,
		 reason.text);
	return walk->visitor->each(walk->visitor->context, &entry, &profile, err);
}

static bool may_be_wanted(const void *context, const struct epoch_file *file)
{
	const struct database_selection *selection = context;
	return is_among(file->name, selection->epochs, selection->epoch_count) &&
	       !epoch_file_is_outside(file, selection->since_ns, selection->until_ns);
}

/* Those that were made of others first, so that it is known of the others which are in them. */
static int visit_host(struct walk *walk, const char *folder, struct error *err)
{
	CLEANUP(epoch_files_release) struct epoch_files files = { 0 };
	CLEANUP(free_pointer) size_t *order = NULL;
	int ret = epoch_files_read(&files, folder);
	if (ret == 0) {
		epoch_files_keep(&files, may_be_wanted, walk->selection);
		ret = replaced_order(&files, &order);
	}
	if (ret < 0)
		return database_failed(err, ret, folder);
	for (size_t i = 0; ret == 0 && i < files.count; i++)
		ret = visit_epoch(walk, &files.list[order[i]], err);
	return ret;
}

/* *vanished becomes true when an epoch was not there any more that had been listed. */
static int visit_epochs(const char *database, const struct database_selection *selection,
			const struct visitor *visitor, bool *vanished, struct error *err)
{
	CLEANUP(names_release) struct names hosts = { 0 };
	int ret = names_read_top(&hosts, database);
	if (ret < 0)
		return database_failed(err, ret, database);
	for (size_t i = 0; ret == 0 && i < hosts.count; i++) {
		CLEANUP(free_pointer) char *folder = database_below(database, hosts.list[i]);
		struct stat found;
		if (!folder)
			return database_failed(err, -ENOMEM, database);
		if (!database_host_is_usable(hosts.list[i]) || lstat(folder, &found) < 0 ||
		    !S_ISDIR(found.st_mode) ||
		    !is_among(hosts.list[i], selection->hosts, selection->host_count))
			continue;
		struct walk walk = { .selection = selection,
				     .visitor = visitor,
				     .host = hosts.list[i] };
		ret = visit_host(&walk, folder, err);
		replaced_release(&walk.replaced);
		*vanished |= walk.vanished;
	}
	return ret;
}

static int list_epoch(void *context, struct database_entry *entry, struct profile **profile,
		      struct error *err)
{
	struct database_list *list = context;
	(void)profile;
	if (array_reserve(&list->entries, &list->capacity, list->count, sizeof(*list->entries)) < 0)
		return database_failed(err, -ENOMEM, entry->path);
	list->entries[list->count++] = *entry;
	/* they are the list's from here on */
	entry->host = entry->epoch = entry->path = entry->labels = NULL;
	return 0;
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
	const struct visitor visitor = { list_epoch, list, selection && selection->whole, false };
	bool vanished = true;
	int ret = 0;
	for (int i = 0; ret == 0 && vanished && i < READ_ATTEMPTS; i++) {
		database_list_release(list);
		vanished = false;
		ret = visit_epochs(database, selection ? selection : &all, &visitor, &vanished,
				   err);
	}
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

/* Epochs that come and go while others are read: the profile is begun anew. */
static int read_epochs(const char *database, struct merging *merging, struct error *err)
{
	const struct database_selection *selection = merging->selection;
	const struct visitor visitor = { merge_epoch, merging, true, true };
	for (int i = 0; i < READ_ATTEMPTS; i++) {
		bool vanished = false;
		profile_free(merging->into);
		merging->into = profile_new();
		merging->count = 0;
		if (!merging->into)
			return database_failed(err, -ENOMEM, database);
		int ret = visit_epochs(database, selection, &visitor, &vanished, err);
		if (ret < 0 || !vanished)
			return ret;
	}
	struct error gone;
	error_set(&gone, -EAGAIN, "epochs of '%s' were removed again and again while it was read",
		  database);
	if (!selection->note) {
		*err = gone;
		return -EAGAIN;
	}
	selection->note(selection->note_context, gone.text);
	return 0;
}

static void merging_release(struct merging *merging)
{
	profile_free(merging->into);
}

int database_read(const char *database, const struct database_selection *selection,
		  struct profile **out, struct error *err)
{
	static const struct database_selection all;
	CLEANUP(merging_release)
	struct merging merging = { .selection = selection ? selection : &all };
	int ret = read_epochs(database, &merging, err);
	if (ret == 0 && merging.count == 0)
		return error_set(err, -ENOENT, "database '%s' has no such epoch", database);
	if (ret == 0)
		ret = database_join_stash(database, merging.selection->note,
					  merging.selection->note_context, merging.into, err);
	if (ret < 0)
		return ret;
	*out = merging.into;
	merging.into = NULL; /* the caller's from here on */
	return 0;
}
