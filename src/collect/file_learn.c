#include "collect/file_learn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "collect/file_keep.h"
#include "collect/file.h"
#include "collect/file_ways.h"
#include "collect/frame_store.h"
#include "collect/shares.h"
#include "image/deleted_path.h"
#include "image/elf_file.h"
#include "image/vdso.h"
#include "image/writer.h"
#include "unwind/frame_rules.h"
#include "unwind/frame_table.h"

#define OPEN_MOST_NS UINT64_C(200000000) /* of a stranger's request */
/* Of a user's files, in an epoch; the collector waits for it, some 0.3 s. */
#define HASHED_MOST_BYTES ((uint64_t)512 << 20)
/* In as many processes of a share: a file that nobody can open is not tried for ever. */
#define OPEN_ATTEMPTS 4

/* From here to stop_paying() the share pays for reading. */
static void pay(struct file_table *table, struct share *share)
{
	if (table->shares && share)
		shares_charge(table->shares, share, SHARE_READING, OPEN_MOST_NS, table->reader);
}

static void stop_paying(struct file_table *table)
{
	if (table->shares && table->shares->purpose == SHARE_READING)
		shares_settle(table->shares, table->reader);
}

/* Whether the share that pays now has no time left. */
static bool is_spent(const struct file_table *table)
{
	return table->shares && shares_time_left_ns(table->shares) == 0;
}

/* Sets file->unread where a limit, or a file system that did not answer, kept it from being read.
 * That it did not answer stays the reason when there is no time left to ask again. */
static void note_unread(struct file *file, int code, enum left_out_step step)
{
	enum left_out_why why;
	bool unanswered = file->unread && file->unread_why == LEFT_OUT_UNANSWERED;
	file->unread = code != -ECANCELED && left_out_reason(code, step, &why);
	if (file->unread)
		file->unread_why = unanswered && why == LEFT_OUT_TIME ? LEFT_OUT_UNANSWERED : why;
}

/* Who pays for reading what was opened: who can write it; for a file system that a user serves, the
 * process that maps it. */
static struct share *share_of_opened(struct file_table *table, const struct safe_file *opened,
				     struct share *process)
{
	if (!table->shares)
		return NULL;
	if (process && (opened->copied || writer_kind(opened->writer) == WRITER_MOUNTER))
		return process;
	return shares_of_file(table->shares, opened->writer);
}

/* Notes by what the file is known again. */
static void stamp(struct file *file, const struct safe_file *opened)
{
	file->device = opened->device;
	file->size_bytes = opened->size_bytes;
	file->changed_ns = opened->changed_ns;
	file->owner = opened->owner;
	file->writer = opened->writer;
	file->mount = opened->mount;
	if (opened->generation_known) {
		file->generation = opened->generation;
		file->generation_known = true;
	}
	reader_unique(opened, file->unique);
}

static bool is_trusted(const struct file_hint *hint)
{
	return hint->payer && !hint->payer->strange;
}

static void note_user(struct file *file, const struct file_hint *hint)
{
	file->latest_pid = hint->pid;
	if (hint->share && (!file->through || hint->share->strange))
		file->through = hint->share;
	if (hint->payer)
		file->latest_payer = hint->payer;
	file->start = hint->start;
	file->end = hint->end;
}

/* Whether it is worth another try: failures of one payer keep no other from opening it. */
static bool may_try(const struct file *file, const struct file_hint *hint)
{
	return file->kind == FILE_PLAIN && file->state == FILE_GONE &&
	       (file->tried_by != hint->payer || file->attempts < OPEN_ATTEMPTS);
}

/* A failure because the share has no time left, or nobody came to the request, is no attempt. */
static void note_failure(struct file *file, const struct file_hint *hint, int code, bool spent,
			 enum left_out_step step)
{
	file->state = FILE_GONE;
	file->refused = code == -EDQUOT || code == -ECANCELED || code == -EBUSY ||
			(spent && file_ways_refused(code));
	bool unanswered = code == -ETIMEDOUT && step == LEFT_OUT_OPENING;
	note_unread(file, spent && !unanswered ? -EDQUOT : code, step);
	if (file->refused)
		return;
	file->attempts = file->tried_by == hint->payer ? file->attempts + 1 : 1;
	file->tried_by = hint->payer;
}

/* Takes over `path`. False: its user has no room for a longer one, and the file keeps what it has.
 */
static bool take_path(struct file_table *table, struct file *file, const struct file_hint *hint,
		      char *path)
{
	uint64_t had = file->path_units;
	uint64_t has = strlen(path) / FILE_PATH_UNIT_BYTES;
	bool longer = has > had && hint->share;
	uint64_t kept = longer && hint->share == file->path_payer ? had : 0;
	if (longer && !share_take(table->shares, hint->share, SHARE_FILES, has - kept)) {
		free(path);
		return false;
	}
	if (longer) {
		if (file->path_payer)
			share_give_back(table->shares, file->path_payer, SHARE_FILES, had - kept);
		file->path_payer = hint->share;
		file->path_units = has;
	}
	free(file->path);
	file->path = path;
	return true;
}

/* Opens it by the path in the hint, which becomes the file's own when that goes well. */
static int open_as_named(struct file_table *table, struct file *file, const struct file_hint *hint,
			 struct safe_file *opened)
{
	struct span named = deleted_path_strip(hint->path);
	bool deleted = named.size != hint->path.size;
	char *path = strndup(named.data, named.size);
	if (!path)
		return -ENOMEM;
	pay(table, hint->payer);
	bool ours = false;
	int ret = table->reader
			  ? file_ways_open(table, file, hint, deleted ? NULL : path, opened, &ours)
			  : -ENOENT;
	if (ret < 0)
		note_failure(file, hint, ret, hint->payer && is_spent(table), LEFT_OUT_OPENING);
	stop_paying(table);
	if (ret < 0)
		free(path);
	else if (take_path(table, file, hint, path))
		file->path_trusted = ours || is_trusted(hint);
	return ret;
}

int file_learn_newcomer(struct file_table *table, const struct file_hint *hint,
			struct safe_file *opened)
{
	const struct file wanted = { .major = hint->major,
				     .minor = hint->minor,
				     .inode = hint->inode,
				     .generation = hint->generation,
				     .generation_known =
					     hint->generation_known && hint->generation };
	struct span named = deleted_path_strip(hint->path);
	bool deleted = named.size != hint->path.size;
	CLEANUP(free_pointer) char *path = strndup(named.data, named.size);
	bool ours;
	if (!path)
		return -ENOMEM;
	pay(table, hint->payer);
	int ret = file_ways_open(table, &wanted, hint, deleted ? NULL : path, opened, &ours);
	stop_paying(table);
	return ret;
}

/* Most files of processes in mount namespaces of their own lie at the same path for us: then that
 * is where *opened comes from, if it is on the mount of our own root. */
static void prefer_own_path(struct file_table *table, struct file *file, struct share *payer,
			    struct safe_file *opened)
{
	struct safe_file own;
	if (file_ways_open_own(table, file->path, payer, &own) < 0)
		return;
	file->by_path = own.inode == opened->inode && own.device == opened->device;
	if (file->by_path) { /* who can write it is told by our own mounts */
		file->path_trusted = true;
		stamp(file, &own);
		file->share = share_of_opened(table, &own, payer);
	}
	if (file->by_path && !own.copied && held_files_harmless(&table->keeping, own.fd)) {
		int other = opened->fd;
		*opened = own;
		own.fd = other;
		file->elsewhere = false;
	}
	close(own.fd);
}

/* Finds out where it lies for us, which says what may be kept of it. */
static void learn_place(struct file_table *table, struct file *file, struct share *payer,
			struct safe_file *opened)
{
	file->elsewhere = opened->copied || !held_files_harmless(&table->keeping, opened->fd);
	file->by_path = !file->elsewhere;
	if (file->elsewhere)
		prefer_own_path(table, file, payer, opened);
}

/* Takes over opened->fd. 0 or -ENOMEM. */
static int note_no_program(struct file_table *table, uint32_t number,
			   const struct safe_file *opened)
{
	struct file *file = file_table_get(table, number);
	file->state = FILE_NOT_ELF;
	bool jitdump = file_may_be_jitdump(file);
	if (jitdump && !opened->copied && held_files_harmless(&table->keeping, opened->fd))
		file_keep_held(table, number, opened->fd);
	else
		close(opened->fd);
	if (!jitdump)
		return 0;
	if (array_reserve(&table->jitdumps, &table->jitdump_capacity, table->jitdump_count,
			  sizeof(*table->jitdumps)) < 0)
		return -ENOMEM;
	table->jitdumps[table->jitdump_count++] =
		(struct file_jitdump){ table->jitdumps_so_far++, number };
	return 0;
}

int file_learn_identity(struct file_table *table, uint32_t number, const struct file_hint *hint)
{
	struct file *file = file_table_get(table, number);
	struct safe_file opened;
	note_user(file, hint);
	int ret = open_as_named(table, file, hint, &opened);
	if (ret < 0)
		return ret == -ENOMEM ? ret : 0;
	file->pid = hint->pid;
	file->unread = file->refused = false;
	file->share = share_of_opened(table, &opened, hint->payer);
	stamp(file, &opened);
	file->first_writer = opened.writer;
	struct identity *identity = calloc(1, sizeof(*identity));
	if (!identity) {
		close(opened.fd);
		return -ENOMEM;
	}
	pay(table, file->share);
	ret = reader_identify(table->reader, opened.fd, identity, NULL);
	bool spent = is_spent(table);
	stop_paying(table);
	if (ret < 0) {
		free(identity);
		if (ret == -ENOEXEC)
			return note_no_program(table, number, &opened);
		note_failure(file, hint, ret, spent, LEFT_OUT_READING);
		close(opened.fd);
		return 0;
	}
	file->identity = identity;
	file->state = FILE_IDENTIFIED;
	file->image = 0; /* until now it was one without segments */
	file->sampled = file->looked_into = false;
	pay(table, file->share);
	learn_place(table, file, hint->payer, &opened);
	file_keep(table, number, &opened);
	stop_paying(table);
	return 0;
}

/* Whether a path with that hash was found to lead us to another file. */
static bool is_known_elsewhere(const struct file *file, uint64_t path_hash)
{
	for (size_t i = 0; i < FILE_PATHS_REFUSED; i++)
		if (path_hash && file->paths_refused[i] == path_hash)
			return true;
	return false;
}

static void note_elsewhere(struct file *file, uint64_t path_hash)
{
	file->paths_refused[file->paths_refused_count++ % FILE_PATHS_REFUSED] = path_hash;
}

/*
 * The process that mapped the file first may name it as nobody else does, through a bind mount of
 * its own. If `path`, of another process, leads us to the file, it becomes the file's: 1, else 0 or
 * -ENOMEM.
 */
static int prefer_seen_path(struct file_table *table, struct file *file, struct span path,
			    struct share *payer)
{
	struct safe_file own;
	uint64_t hash = hash128_bytes(path.data, path.size).low;
	if (is_known_elsewhere(file, hash))
		return 0;
	char *text = strndup(path.data, path.size);
	if (!text)
		return -ENOMEM;
	int ret = file_ways_open_own(table, text, payer, &own);
	if (ret < 0 || close(own.fd) < 0 || own.inode != file->inode ||
	    own.device != file->device || own.changed_ns != file->changed_ns ||
	    file_ways_other_generation(file, &own)) {
		if (!file_ways_refused(ret))
			note_elsewhere(file, hash);
		free(text);
		return 0;
	}
	free(file->path);
	file->path = text;
	file->by_path = file->path_trusted = true;
	if (own.writer != file->writer) {
		/* other mounts, other rights: what is sampled from now on is another image */
		stamp(file, &own);
		file->share = share_of_opened(table, &own, payer);
		file->identity->content = CONTENT_NONE;
		file->image = 0;
		file->sampled = file->looked_into = false;
	}
	return 1;
}

int file_learn_mapped(struct file_table *table, uint32_t number, const struct file_hint *hint)
{
	struct file *file = file_table_get(table, number);
	struct span path = deleted_path_strip(hint->path);
	bool deleted = path.size != hint->path.size;
	if (may_try(file, hint))
		return file_learn_identity(table, number, hint);
	if (span_equal(path, span_of_text(file->path))) {
		note_user(file, hint);
		file->path_trusted |= is_trusted(hint);
		return 0;
	}
	return file->state == FILE_IDENTIFIED && !file->by_path && !deleted
		       ? prefer_seen_path(table, file, path, hint->payer)
		       : 0;
}

/* Copies a file of which nothing is kept, and which no descriptor may hold open. */
static void copy_when_sampled(struct file_table *table, struct file *file)
{
	if (file->state != FILE_IDENTIFIED || file->kind != FILE_PLAIN || !file->elsewhere ||
	    file->fd >= 0)
		return;
	if (!file_keep_make_room(table, file))
		return;
	pay(table, file->share);
	CLEANUP(close_fd) int fd = file_ways_open_known(table, file);
	if (fd >= 0)
		file_keep_copy(table, file, fd);
	stop_paying(table);
}

/* Whether the limit of its writer's files has room for it. Those beyond are known by their paths,
 * on this machine alone. */
static bool may_hash_whole(struct file_table *table, const struct file *file)
{
	uint64_t taken = (uint64_t)(uintptr_t)number_map_find(&table->hashed_bytes, file->writer);
	uint64_t size =
		file->size_bytes < CONTENT_WHOLE_BYTES ? file->size_bytes : CONTENT_WHOLE_BYTES;
	if (taken + size > HASHED_MOST_BYTES)
		return false;
	return number_map_put(&table->hashed_bytes, file->writer,
			      (void *)(uintptr_t)(taken + size)) == 0;
}

/*
 * Hashes a file that is sampled for the first time. One that cannot be read any more keeps the
 * build-id that it claims, and counts as no other file.
 */
static void learn_content(struct file_table *table, struct file *file)
{
	struct identity identity;
	if (file->state != FILE_IDENTIFIED || file->kind != FILE_PLAIN || file->looked_into)
		return;
	file->looked_into = true;
	pay(table, file->share);
	CLEANUP(close_fd) int fd = file_ways_open_known(table, file);
	if (fd >= 0 && (!file->writer || may_hash_whole(table, file))) {
		int ret = reader_identify_content(table->reader, fd,
						  file->writer ? CONTENT_FILE : CONTENT_TEXT,
						  file_unique(file), &identity, NULL);
		if (ret == 0) /* its segments too: it may have been written over */
			*file->identity = identity;
		/* Names and code are read all the same, unless it is of a user's own file system,
		 * or a user's file that the helper died of. */
		file->unread = false;
		bool died = ret == -EIO && file->writer;
		if (died || (ret < 0 && writer_kind(file->writer) == WRITER_MOUNTER))
			note_unread(file, ret, LEFT_OUT_READING);
	}
	stop_paying(table);
}

/* Opens it if it was refused, and who pays has time again. */
static void try_again(struct file_table *table, const struct file *file, uint32_t number)
{
	if (!file->refused || !file->latest_payer ||
	    share_reading_left_ns(table->shares, file->latest_payer) < SHARE_LEAST_NS ||
	    (file->share && share_reading_left_ns(table->shares, file->share) < SHARE_LEAST_NS))
		return;
	const struct file_hint hint = { .pid = file->latest_pid,
					.start = file->start,
					.end = file->end,
					.share = file->through,
					.payer = file->latest_payer,
					.path = span_of_text(file->path) };
	(void)file_learn_identity(table, number, &hint); /* without memory it stays as it is */
}

void file_learn_sampled(struct file_table *table, uint32_t number)
{
	struct file *file = file_table_get(table, number);
	try_again(table, file, number);
	if (!file->sampled) {
		file->sampled = true;
		copy_when_sampled(table, file);
	}
	learn_content(table, file);
}

/* The kernel's, which needs no helper. */
static int put_vdso_frames(struct buffer *out)
{
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	CLEANUP(frame_rules_release) struct frame_rules rules = { 0 };
	struct elf_file file;
	int ret = vdso_read(&bytes, NULL);
	if (ret == 0)
		ret = elf_file_parse(bytes.data, bytes.size, &file, NULL);
	if (ret < 0)
		return ret == -ENOMEM ? ret : -ENOENT;
	ret = frame_rules_read(&file, &rules);
	if (ret == 0)
		ret = frame_table_put(&rules, file.machine, out);
	elf_file_release(&file);
	return ret;
}

/* Where the rules of a file are kept from one recording to the next; NULL: they are not. */
static struct frame_store *store_of(const struct file_table *table, const struct file *file,
				    struct frame_store_key *key)
{
	if (!table->frame_store || file->writer != writer_of(WRITER_NOBODY, 0) ||
	    file->first_writer != writer_of(WRITER_NOBODY, 0))
		return NULL;
	*key = (struct frame_store_key){
		.device = file->device,
		.inode = file->inode,
		.generation = file->generation_known ? file->generation : 0,
		.size_bytes = file->size_bytes,
		.changed_ns = file->changed_ns,
		.build_id_bytes = file->identity->build_id_bytes,
	};
	memcpy(key->build_id, file->identity->build_id, sizeof(key->build_id));
	return table->frame_store;
}

/* By the helper, in the time of who pays for the file. */
static int make_frames(struct file_table *table, struct file *file, struct buffer *out)
{
	pay(table, file->share);
	CLEANUP(close_fd) int fd = file_ways_open_known(table, file);
	int ret = fd < 0 ? fd : reader_frame_table(table->reader, fd, out, NULL);
	bool spent = is_spent(table);
	stop_paying(table);
	if (ret == -ENOMEM || ret == -E2BIG || ret == 0 || file_ways_refused(ret))
		return ret;
	return spent ? -EDQUOT : -ENOENT;
}

int file_learn_frames(struct file_table *table, uint32_t number, struct buffer *out)
{
	struct file *file = file_table_get(table, number);
	struct frame_store_key key;
	if (number == table->vdso)
		return put_vdso_frames(out);
	if (file->kind != FILE_PLAIN || !table->reader || file->state != FILE_IDENTIFIED)
		return -ENOENT;
	struct frame_store *store = store_of(table, file, &key);
	if (store && frame_store_find(store, &key, out))
		return 0;
	size_t before = out->size;
	int ret = make_frames(table, file, out);
	if (store && ret == 0)
		frame_store_put(store, &key,
				(struct span){ out->data + before, out->size - before });
	return ret;
}
