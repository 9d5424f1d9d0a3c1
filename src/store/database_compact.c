#include "store/database_compact.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "profile/profile.h"
#include "profile/sum_check.h"
#include "store/database_epochs.h"
#include "store/database_folder.h"
#include "store/database_lock.h"
#include "store/database_replaced.h"
#include "store/database_uses.h"
#include "store/pack_files.h"
#include "store/profile_file.h"
#include "store/replace_file.h"

#define DAY_NS		 (UINT64_C(86400) * 1000000000)
#define LOCK_PATIENCE_NS UINT64_C(2000000000)

/* An old epoch, and what has to be equal for it to be merged with another. */
struct part {
	struct epoch_file *file;
	struct profile *sources;
	struct buffer key; /* failed: it is merged with none */
	uint64_t start_ns, end_ns;
	bool removed;
};

struct parts {
	struct part *list;
	size_t count;
};

static void parts_release(struct parts *parts)
{
	for (size_t i = 0; i < parts->count; i++) {
		profile_free(parts->list[i].sources);
		buffer_release(&parts->list[i].key);
	}
	free(parts->list);
}

/* One call, and the host's folder that it is at. */
struct compacting {
	const char *database;
	const struct database_compaction *compaction;
	struct database_compacted *done;
	uint64_t before_ns; /* days that end after that stay as they are */
	const char *host;
	char *path; /* of the host's folder */
	int folder;
};

static bool is_stopped(const struct compacting *compacting)
{
	const struct database_compaction *compaction = compacting->compaction;
	return compaction->stop && compaction->stop(compaction->context);
}

static void note(const struct compacting *compacting, const char *sentence)
{
	if (compacting->compaction->note)
		compacting->compaction->note(compacting->compaction->context, sentence);
}

/* ---- what goes together */

static void put_text(struct buffer *key, struct span text)
{
	buffer_append_u64(key, text.data ? text.size + 1 : 0);
	buffer_append(key, text.data, text.size);
}

/* All of a source but its times and its number in its recording, and the day. */
static void put_source(struct buffer *key, const struct profile_source *source)
{
	const struct span texts[] = {
		source->host,	    source->boot_id,   source->kernel,	 source->machine,
		source->cpu_vendor, source->cpu_model, source->cpu_name, source->microcode,
		source->smt,	    source->governor,  source->turbo,	 source->frequency,
		source->hypervisor, source->clock,     source->command,	 source->tool,
		source->labels,
	};
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		put_text(key, texts[i]);
	buffer_append_u64(key, source->cpus);
	buffer_append_u64(key, source->start_ns / DAY_NS);
}

/* Fills what part->sources says. Sources that are not alike make no key: it stays empty. 0 or
 * -ENOMEM. */
static int read_key(struct part *part)
{
	const struct table *source = profile_table(part->sources, PROFILE_SOURCE);
	size_t known;
	bool alike = source->count > 0;
	profile_columns(PROFILE_SOURCE, &known);
	for (size_t row = 0; row < source->count; row++) {
		const struct profile_source one = profile_source(part->sources, row);
		CLEANUP(buffer_release) struct buffer key = { 0 };
		uint64_t end_ns = one.start_ns > UINT64_MAX - one.duration_ns
					  ? UINT64_MAX
					  : one.start_ns + one.duration_ns;
		put_source(&key, &one);
		if (buffer_failed(&key))
			return -ENOMEM;
		if (row == 0)
			buffer_append(&part->key, key.data, key.size);
		alike &= one.start_ns && one.host.size && part->key.size == key.size &&
			 memcmp(part->key.data, key.data, key.size) == 0;
		if (row == 0 || one.start_ns < part->start_ns)
			part->start_ns = one.start_ns;
		if (end_ns > part->end_ns)
			part->end_ns = end_ns;
	}
	if (!alike || source->column_count != known)
		part->key.size = 0;
	return buffer_failed(&part->key) ? -ENOMEM : 0;
}

/* Whether the day of a time is over for so long that its epochs are to become one. */
static bool is_old(const struct compacting *compacting, uint64_t start_ns)
{
	return (start_ns / DAY_NS + 1) * DAY_NS <= compacting->before_ns;
}

static bool may_be_old(const void *context, const struct epoch_file *file)
{
	struct stat found;
	return !file->is_open && file->naming != EPOCH_NAME_OTHER &&
	       is_old(context, file->named_ns) && lstat(file->path, &found) == 0 &&
	       S_ISREG(found.st_mode);
}

static int compare_parts(const void *a, const void *b)
{
	const struct part *left = a, *right = b;
	int order = span_compare((struct span){ left->key.data, left->key.size },
				 (struct span){ right->key.data, right->key.size });
	return order ? order : strcmp(left->file->name, right->file->name);
}

/* 0 or a negative errno value without a message. What cannot be read stays as it is. */
static int read_parts(const struct compacting *compacting, const struct epoch_files *files,
		      struct parts *parts)
{
	parts->list = calloc(files->count + 1, sizeof(*parts->list));
	if (!parts->list)
		return -ENOMEM;
	for (size_t i = 0; i < files->count; i++) {
		struct part part = { .file = &files->list[i] };
		struct profile_file_info info;
		struct error reason;
		int ret = profile_file_read_sources(part.file->path, &part.sources, &info, &reason);
		if (ret == -ENOMEM)
			return ret;
		if (ret < 0) {
			if (ret != -ENOENT)
				note(compacting, reason.text);
			continue;
		}
		parts->list[parts->count] = part;
		ret = read_key(&parts->list[parts->count++]);
		if (ret < 0)
			return ret;
	}
	if (parts->count)
		qsort(parts->list, parts->count, sizeof(*parts->list), compare_parts);
	return 0;
}

/* ---- removing parts */

static void remove_part(struct compacting *compacting, struct part *part)
{
	const char *name = strrchr(part->file->path, '/') + 1;
	struct error err;
	part->removed = true;
	if (unlinkat(compacting->folder, name, 0) == 0 || errno == ENOENT) {
		compacting->done->parts++;
		compacting->done->parts_bytes += part->file->bytes;
		return;
	}
	error_set(&err, -errno, "cannot remove '%s': %s", part->file->path, strerror(errno));
	note(compacting, err.text);
}

/* Removes epochs that are in others, which are whole: an earlier call was killed, or they were
 * copied in again. 0 or -ENOMEM. */
static int remove_replaced(struct compacting *compacting, struct parts *parts)
{
	CLEANUP(replaced_release) struct replaced_set set = { 0 };
	for (size_t i = 0; i < parts->count; i++) {
		CLEANUP(profile_freep) struct profile *whole = NULL;
		const struct epoch_file *file = parts->list[i].file;
		if (file->naming != EPOCH_NAME_COMPACTED ||
		    profile_file_read_unlinked(file->path, &whole, NULL, NULL) < 0)
			continue;
		if (replaced_add(&set, whole, file->name) < 0)
			return -ENOMEM;
	}
	for (size_t i = 0; i < parts->count; i++) {
		struct part *part = &parts->list[i];
		if (!replaced_has(&set, part->sources, part->file->name) ||
		    (part->file->naming == EPOCH_NAME_COMPACTED &&
		     replaced_equal(&set, part->sources, part->file->name)))
			continue;
		part->removed = true;
		if (!compacting->compaction->dry_run)
			remove_part(compacting, part);
	}
	return 0;
}

/* ---- making one of several */

/* Whether it has a source that is in `into` already: added up, what both have would count twice. */
static bool shares_sources(const struct profile *one, const struct profile *into)
{
	for (size_t row = 0; row < profile_table(one, PROFILE_SOURCE)->count; row++) {
		struct profile_source source = profile_source(one, row);
		if (profile_has_source(into, &source))
			return true;
	}
	return false;
}

/* Adds up the parts. Returns 1 when they cannot become one now, which is said. */
static int merge_parts(const struct compacting *compacting, struct part *const *parts, size_t count,
		       struct profile **out, struct error *err)
{
	CLEANUP(profile_freep) struct profile *into = profile_new();
	struct error reason;
	int ret = into ? 0 : -ENOMEM;
	for (size_t i = 0; ret == 0 && i < count; i++) {
		CLEANUP(profile_freep) struct profile *one = NULL;
		ret = profile_file_read_unlinked(parts[i]->file->path, &one, NULL, &reason);
		if (ret == 0 && shares_sources(one, into))
			ret = error_set(&reason, -EEXIST,
					"'%s' has a part of what another epoch of that day has: "
					"they stay apart",
					parts[i]->file->path);
		if (ret == 0)
			ret = profile_merge(into, one, &reason);
	}
	if (ret == 0)
		ret = profile_check_sums(into, &reason);
	if (ret == -ENOMEM)
		return database_failed(err, ret, compacting->path);
	if (ret < 0) {
		/* One that is gone is in what another process has made. */
		if (ret != -ENOENT)
			note(compacting, reason.text);
		return 1;
	}
	*out = into;
	into = NULL; /* the caller's from here on */
	return 0;
}

/* Sets the file's time to the end of what is in it, as if it had been written then. */
static void set_time(const struct compacting *compacting, const char *file, uint64_t end_ns)
{
	const struct timespec end = { .tv_sec = (time_t)(end_ns / 1000000000 + 1) };
	utimensat(compacting->folder, file, (struct timespec[]){ end, end }, AT_SYMLINK_NOFOLLOW);
}

/* Writes the profile under a name that its bytes give, and reads it again. */
static int write_made(const struct compacting *compacting, const struct profile *profile,
		      uint64_t start_ns, uint64_t end_ns, char name[64], struct error *err)
{
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	CLEANUP(profile_freep) struct profile *again = NULL;
	CLEANUP(free_pointer) char *path = NULL;
	char stem[EPOCH_STEM_BYTES], file[80];
	int ret = profile_file_encode(profile, &bytes, err);
	if (ret < 0)
		return ret;
	epoch_name_stem(start_ns, stem);
	snprintf(name, 64, "%s+%016llx", stem,
		 (unsigned long long)hash128_bytes(bytes.data, bytes.size).high);
	snprintf(file, sizeof(file), "%s" EPOCH_CLOSED_ENDING, name);
	path = database_below(compacting->path, file);
	if (!path)
		return database_failed(err, -ENOMEM, compacting->path);
	ret = replace_file(path, bytes.data, bytes.size, DATABASE_FILE_MODE, REPLACE_REFUSE, err);
	if (ret < 0 && ret != -EEXIST)
		return ret;
	set_time(compacting, file, end_ns);
	compacting->done->written_bytes += bytes.size;
	return profile_file_read_unlinked(path, &again, NULL, err);
}

/* Makes one epoch of several. 0 or a negative errno value with *err. */
static int make_one(struct compacting *compacting, struct part *const *parts, size_t count,
		    struct error *err)
{
	CLEANUP(profile_freep) struct profile *profile = NULL;
	uint64_t start_ns = parts[0]->start_ns, end_ns = 0;
	char name[64] = "";
	for (size_t i = 0; i < count; i++) {
		start_ns = parts[i]->start_ns < start_ns ? parts[i]->start_ns : start_ns;
		end_ns = parts[i]->end_ns > end_ns ? parts[i]->end_ns : end_ns;
	}
	int ret = 0;
	if (!compacting->compaction->dry_run) {
		ret = merge_parts(compacting, parts, count, &profile, err);
		if (ret)
			return ret < 0 ? ret : 0;
		ret = write_made(compacting, profile, start_ns, end_ns, name, err);
	}
	if (ret < 0)
		return ret;
	compacting->done->made++;
	if (compacting->compaction->made)
		compacting->compaction->made(compacting->compaction->context, compacting->host,
					     name, count);
	for (size_t i = 0; i < count; i++) {
		if (compacting->compaction->dry_run) {
			compacting->done->parts++;
			compacting->done->parts_bytes += parts[i]->file->bytes;
		} else if (strcmp(parts[i]->file->name, name) != 0) {
			remove_part(compacting, parts[i]);
		}
	}
	ret = compacting->compaction->dry_run ? 0 : replace_sync_folder(compacting->folder);
	return ret < 0 ? database_failed(err, ret, compacting->path) : 0;
}

static bool go_together(const struct part *one, const struct part *other)
{
	return one->key.size && one->key.size == other->key.size &&
	       memcmp(one->key.data, other->key.data, one->key.size) == 0;
}

static int make_all(struct compacting *compacting, struct parts *parts, struct error *err)
{
	CLEANUP(free_pointer) struct part **alike = calloc(parts->count + 1, sizeof(*alike));
	int ret = 0;
	if (!alike)
		return database_failed(err, -ENOMEM, compacting->path);
	for (size_t i = 0; ret == 0 && i < parts->count && !is_stopped(compacting);) {
		size_t count = 0, next = i;
		for (; next < parts->count &&
		       (next == i || go_together(&parts->list[i], &parts->list[next]));
		     next++)
			if (!parts->list[next].removed &&
			    is_old(compacting, parts->list[next].start_ns))
				alike[count++] = &parts->list[next];
		if (count > 1)
			ret = make_one(compacting, alike, count, err);
		i = next;
	}
	return ret;
}

/* ---- hosts */

static int compact_folder(struct compacting *compacting, struct error *err)
{
	CLEANUP(epoch_files_release) struct epoch_files files = { 0 };
	CLEANUP(parts_release) struct parts parts = { 0 };
	int ret = epoch_files_read(&files, compacting->path);
	if (ret == 0) {
		epoch_files_keep(&files, may_be_old, compacting);
		ret = read_parts(compacting, &files, &parts);
	}
	if (ret == 0)
		ret = remove_replaced(compacting, &parts);
	return ret < 0 ? database_failed(err, ret, compacting->path)
		       : make_all(compacting, &parts, err);
}

static int compact_host(struct compacting *compacting, struct error *err)
{
	CLEANUP(free_pointer) char *path = database_below(compacting->database, compacting->host);
	CLEANUP(close_fd)
	int folder = database_open_below(compacting->database, compacting->host, NULL);
	struct error reason;
	if (!path)
		return database_failed(err, -ENOMEM, compacting->database);
	if (folder == -ENOTDIR || folder == -ENOENT)
		return 0; /* no folder of a host */
	if (folder < 0) {
		error_set(&reason, folder, "cannot compact '%s': %s", path,
			  folder == -EPERM ? "the folder belongs to another user"
					   : strerror(-folder));
		note(compacting, reason.text);
		return 0;
	}
	compacting->path = path;
	compacting->folder = folder;
	return compact_folder(compacting, err);
}

static int merge_packs(struct compacting *compacting, struct error *err)
{
	CLEANUP(names_release) struct names names = { 0 };
	CLEANUP(free_pointer) char *images = database_below(compacting->database, DATABASE_IMAGES);
	CLEANUP(close_fd)
	int folder = database_open_below(compacting->database, DATABASE_IMAGES, NULL);
	int ret = images ? 0 : -ENOMEM;
	if (ret == 0 && folder >= 0)
		ret = names_read(&names, images);
	if (ret < 0)
		return database_failed(err, ret, compacting->database);
	for (size_t i = 0; ret == 0 && i < names.count && !is_stopped(compacting); i++) {
		CLEANUP(free_pointer) char *path = database_below(images, names.list[i]);
		CLEANUP(close_fd)
		int ours =
			database_open_below(compacting->database, DATABASE_IMAGES, names.list[i]);
		if (!path)
			return database_failed(err, -ENOMEM, images);
		if (ours >= 0 && database_is_image_name(names.list[i]))
			ret = pack_files_merge(path, 2, &compacting->done->packs_removed,
					       &compacting->done->packs_written, err);
	}
	return ret;
}

int database_compact(const char *database, const struct database_compaction *compaction,
		     struct database_compacted *compacted, struct error *err)
{
	CLEANUP(names_release) struct names hosts = { 0 };
	uint64_t now_ns = compaction->now_ns ? compaction->now_ns : clock_realtime_ns();
	struct compacting compacting = {
		.database = database,
		.compaction = compaction,
		.done = compacted,
		.before_ns =
			now_ns > compaction->older_than_ns ? now_ns - compaction->older_than_ns : 0,
	};
	*compacted = (struct database_compacted){ 0 };
	int ret = names_read_top(&hosts, database);
	if (ret < 0)
		return database_failed(err, ret, database);
	/* Whoever removes packs has to find the parts or what they became. */
	CLEANUP(close_fd)
	int lock = database_lock_images(database, DATABASE_LOCK_SHARED, LOCK_PATIENCE_NS);
	if (lock == -EBUSY)
		return error_set(err, -EBUSY,
				 "database '%s' is being pruned: it is not compacted now",
				 database);
	for (size_t i = 0; ret == 0 && i < hosts.count; i++) {
		compacting.host = hosts.list[i];
		if (database_host_is_usable(compacting.host))
			ret = compact_host(&compacting, err);
	}
	return ret == 0 && !compaction->dry_run ? merge_packs(&compacting, err) : ret;
}
