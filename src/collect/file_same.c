#include "collect/file_same.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "collect/file_learn.h"
#include "collect/file_ways.h"
#include "collect/shares.h"
#include "image/deleted_path.h"
#include "image/writer.h"

#define LOOKS	       4096u /* one that another replaces costs another look */
#define LOOKS_IN_VAIN  512u
#define LOOK_PART      200u /* of the time may go to comparing one file again */
#define HOLDS_LEAST_NS UINT64_C(1000000000)
#define HOLDS_MOST_NS  UINT64_C(10000000000)
#define VAIN_LEAST_NS  UINT64_C(10000000)

/* What was compared: a user's mapping under a path, with a file. */
struct look_key {
	uint64_t file; /* its number */
	uint64_t share;
	uint64_t path; /* its hash */
	uint64_t generation;
	uint64_t generation_known;
};

struct look {
	struct look_key key; /* of file 0: free */
	uint64_t until_ns;
};

struct file_looks {
	struct look found[LOOKS]; /* the mapping is the file */
	/* The mapping could not be opened; `file` is the inode's newest. */
	struct look vain[LOOKS_IN_VAIN];
};

struct file_looks *file_looks_new(void)
{
	return calloc(1, sizeof(struct file_looks));
}

static struct look_key key_of(uint32_t number, const struct file_hint *hint)
{
	struct span path = deleted_path_strip(hint->path);
	return (struct look_key){ .file = number,
				  .share = (uintptr_t)hint->share,
				  .path = hash_bytes(path.data, path.size),
				  .generation = hint->generation,
				  .generation_known = hint->generation_known };
}

static struct look *slot_of(struct look *looks, size_t count, const struct look_key *key)
{
	return &looks[hash_bytes(key, sizeof(*key)) % count];
}

static bool holds_at(const struct look *look, const struct look_key *key, uint64_t time_ns)
{
	return memcmp(&look->key, key, sizeof(*key)) == 0 && look->until_ns >= time_ns;
}

static bool was_found(const struct file_table *table, uint32_t number, const struct file_hint *hint,
		      uint64_t now_ns)
{
	const struct look_key key = key_of(number, hint);
	return holds_at(slot_of(table->looks->found, LOOKS, &key), &key, now_ns);
}

static uint64_t at_least(uint64_t value, uint64_t least)
{
	return value > least ? value : least;
}

/* Until when (CLOCK_MONOTONIC) a result holds that took so long to find out. */
static uint64_t holds_until(uint64_t took_ns)
{
	uint64_t holds_ns = at_least(LOOK_PART * took_ns, HOLDS_LEAST_NS);
	return clock_monotonic_ns() + (holds_ns < HOLDS_MOST_NS ? holds_ns : HOLDS_MOST_NS);
}

static void note_found(struct file_table *table, uint32_t number, const struct file_hint *hint,
		       uint64_t took_ns)
{
	const struct look_key key = key_of(number, hint);
	*slot_of(table->looks->found, LOOKS, &key) = (struct look){ key, holds_until(took_ns) };
}

static uint64_t inode_key(uint32_t major, uint32_t minor, uint64_t inode)
{
	return inode ^ ((uint64_t)major << 52) ^ ((uint64_t)minor << 32);
}

static uint64_t key_of_hint(const struct file_hint *hint)
{
	return inode_key(hint->major, hint->minor, hint->inode);
}

static uint32_t newest(const struct file_table *table, uint64_t key)
{
	return (uint32_t)(uintptr_t)number_map_find(&table->by_inode, key);
}

static uint32_t newest_of(const struct file_table *table, const struct file_hint *hint)
{
	return newest(table, key_of_hint(hint));
}

static bool same_path(const struct file *file, const struct file_hint *hint)
{
	return span_equal(deleted_path_strip(hint->path), span_of_text(file->path));
}

enum answer { ANSWER_NO, ANSWER_YES, ANSWER_UNSURE };

/* Whether the hint names the file, as far as the hint itself says. */
static enum answer compare(const struct file *file, const struct file_hint *hint,
			   enum file_kind kind)
{
	if (file->inode != hint->inode || file->major != hint->major ||
	    file->minor != hint->minor || file->kind != kind)
		return ANSWER_NO;
	if (kind == FILE_SPECIAL) /* its path is all that is known of it */
		return same_path(file, hint) ? ANSWER_YES : ANSWER_NO;
	if (!file->generation_known || !hint->generation_known)
		return ANSWER_UNSURE;
	if (file->generation != hint->generation)
		return ANSWER_NO;
	return writer_kind(file->writer) == WRITER_MOUNTER ? ANSWER_UNSURE : ANSWER_YES;
}

/* False: both lie on file systems that users serve, and not on the same or for the same user. Such
 * a file system says of a file what it likes. */
static bool same_mounter(const struct file *file, const struct file_hint *hint,
			 const struct safe_file *opened)
{
	return writer_kind(opened->writer) != WRITER_MOUNTER ||
	       (file->mount && file->mount == opened->mount) || file->first_share == hint->share;
}

/* Whether what was opened, which is of the device and inode of both, is the file as we know it. */
static bool is_file(const struct file *file, const struct file_hint *hint,
		    const struct safe_file *opened)
{
	if (opened->device != file->device || opened->owner != file->owner ||
	    (opened->writer != file->writer && opened->writer != file->first_writer) ||
	    file_ways_other_generation(file, opened) || !same_mounter(file, hint, opened))
		return false;
	/* What a compiler of code writes grows while it is mapped. */
	if (file->state == FILE_NOT_ELF && file->first_share == hint->share &&
	    same_path(file, hint))
		return true;
	return opened->changed_ns == file->changed_ns && opened->size_bytes == file->size_bytes;
}

static bool was_opened(const struct file *file)
{
	return file->state == FILE_IDENTIFIED || file->state == FILE_NOT_ELF;
}

/* While we have it open no other file has its inode. But a record may be of before: a hint with a
 * generation is not believed. */
static bool is_pinned(const struct file *file, const struct file_hint *hint)
{
	return file->fd >= 0 && !file->copied && !hint->generation;
}

/* Whether file->path leads us to it still. */
static bool look_at_own_path(struct file_table *table, const struct file *file)
{
	struct safe_file own;
	if (file_ways_open_own(table, file->path, NULL, &own) < 0)
		return false;
	close(own.fd);
	return own.device == file->device && own.inode == file->inode &&
	       own.writer == file->writer && own.changed_ns == file->changed_ns &&
	       own.size_bytes == file->size_bytes && !file_ways_other_generation(file, &own);
}

/*
 * Whether it lies at its path still, and only root or we could have replaced it. Where no
 * generation is known, strangers' mappings need more than that: root's file may lie in a folder of
 * theirs.
 */
static bool is_still_there(struct file_table *table, struct file *file,
			   const struct file_hint *hint)
{
	bool strange = hint->share && hint->share->strange;
	if (file->writer || !file->by_path || !file->path_trusted || !table->reader ||
	    !same_path(file, hint) || (strange && !file->generation_known))
		return false;
	uint64_t begin_ns = clock_monotonic_ns();
	if (file->there_until_ns >= begin_ns)
		return file->there;
	file->there = look_at_own_path(table, file);
	file->there_until_ns = holds_until(clock_monotonic_ns() - begin_ns);
	return file->there;
}

static void take_generation(struct file *file, const struct file_hint *hint)
{
	if (file->generation_known || !hint->generation)
		return;
	file->generation = hint->generation;
	file->generation_known = true;
}

/* The next file after `number` (0: the first) that the hint may name and does not surely name; 0:
 * none. */
static uint32_t next_unsure(const struct file_table *table, const struct file_hint *hint,
			    uint32_t number)
{
	number = number ? file_table_get(table, number)->next : newest_of(table, hint);
	while (number && compare(file_table_get(table, number), hint, FILE_PLAIN) != ANSWER_UNSURE)
		number = file_table_get(table, number)->next;
	return number;
}

/* The file that the hint names, where that is known without opening anything; 0: it is not. */
static uint32_t find_known(struct file_table *table, const struct file_hint *hint)
{
	uint64_t now_ns = clock_monotonic_ns();
	uint32_t first = next_unsure(table, hint, 0);
	for (uint32_t number = first; number; number = next_unsure(table, hint, number)) {
		const struct file *file = file_table_get(table, number);
		if (was_opened(file) &&
		    (was_found(table, number, hint, now_ns) || is_pinned(file, hint)))
			return number;
	}
	struct file *only = next_unsure(table, hint, first) ? NULL : file_table_get(table, first);
	if (!only || only->state != FILE_IDENTIFIED || !is_still_there(table, only, hint))
		return 0;
	take_generation(only, hint);
	return first;
}

/* The file that `newcomer` is, which the hint named; 0: none of those known. */
static uint32_t find_opened(struct file_table *table, const struct file_hint *hint,
			    const struct safe_file *newcomer)
{
	for (uint32_t number = 0; (number = next_unsure(table, hint, number));) {
		const struct file *file = file_table_get(table, number);
		if (was_opened(file) && is_file(file, hint, newcomer))
			return number;
	}
	return 0;
}

/* Opens what the hint names, and compares it with all files that it may be. *opened: whether it
 * could be opened; *number: 0 when it is none of them. 0 or -ENOMEM. */
static int look(struct file_table *table, const struct file_hint *hint, uint32_t *number,
		bool *opened)
{
	struct safe_file newcomer;
	const struct look_key key = key_of(newest_of(table, hint), hint);
	struct look *vain = slot_of(table->looks->vain, LOOKS_IN_VAIN, &key);
	uint64_t begin_ns = clock_monotonic_ns();
	*number = 0;
	*opened = false;
	if (!table->reader || holds_at(vain, &key, begin_ns))
		return 0;
	int ret = file_learn_newcomer(table, hint, &newcomer);
	uint64_t end_ns = clock_monotonic_ns();
	uint64_t took_ns = end_ns - begin_ns;
	if (ret < 0) {
		uint64_t rest_ns = at_least(LOOK_PART * took_ns, VAIN_LEAST_NS);
		*vain = (struct look){ key, end_ns + rest_ns };
		return ret == -ENOMEM ? ret : 0;
	}
	*opened = true;
	*number = find_opened(table, hint, &newcomer);
	close(newcomer.fd);
	if (*number) {
		take_generation(file_table_get(table, *number), hint);
		note_found(table, *number, hint, took_ns);
	}
	return 0;
}

/*
 * Where the hint cannot be decided: the file that the same user mapped first under that path, or
 * that his mapping under that path was found to be however long ago. `opened`: what the hint names
 * was opened, and is none of the files that were. 0: none.
 */
static uint32_t find_likely(struct file_table *table, const struct file_hint *hint, bool opened)
{
	for (uint32_t number = 0; (number = next_unsure(table, hint, number));) {
		const struct file *file = file_table_get(table, number);
		if (opened && was_opened(file))
			continue;
		if ((file->first_share == hint->share && same_path(file, hint)) ||
		    was_found(table, number, hint, 0))
			return number;
	}
	return 0;
}

static uint32_t find_sure(const struct file_table *table, const struct file_hint *hint,
			  enum file_kind kind)
{
	uint32_t number = newest_of(table, hint);
	while (number && compare(file_table_get(table, number), hint, kind) != ANSWER_YES)
		number = file_table_get(table, number)->next;
	return number;
}

static bool any_was_opened(const struct file_table *table, const struct file_hint *hint)
{
	uint32_t number = next_unsure(table, hint, 0);
	while (number && !was_opened(file_table_get(table, number)))
		number = next_unsure(table, hint, number);
	return number;
}

int file_same_find(struct file_table *table, const struct file_hint *hint, enum file_kind kind,
		   uint32_t *number)
{
	bool opened = false;
	*number = find_sure(table, hint, kind);
	if (*number || kind != FILE_PLAIN || !next_unsure(table, hint, 0))
		return 0;
	*number = find_known(table, hint);
	int ret = 0;
	if (!*number && any_was_opened(table, hint))
		ret = look(table, hint, number, &opened);
	if (ret == 0 && !*number)
		*number = find_likely(table, hint, opened);
	return ret;
}

int file_same_add(struct file_table *table, uint32_t number, const struct file_hint *hint)
{
	struct file *file = file_table_get(table, number);
	file->next = newest_of(table, hint);
	int ret = number_map_put(&table->by_inode, key_of_hint(hint), (void *)(uintptr_t)number);
	if (ret == 0)
		note_found(table, number, hint, 0);
	return ret;
}

/* The first from `number` on, in the list of an inode, that is in use; 0: none. */
static uint32_t first_in_use(const struct file_table *table, uint32_t number, const bool *in_use)
{
	while (number && !in_use[number])
		number = file_table_get(table, number)->next;
	return number;
}

static void forget_looks(struct look *looks, size_t count, const bool *in_use)
{
	for (size_t i = 0; i < count; i++)
		if (looks[i].key.file && !in_use[looks[i].key.file])
			looks[i] = (struct look){ 0 };
}

void file_same_forget(struct file_table *table, const bool *in_use)
{
	for (uint32_t number = 1; number <= table->count; number++) {
		struct file *file = file_table_get(table, number);
		if (!file)
			continue;
		if (in_use[number]) {
			file->next = first_in_use(table, file->next, in_use);
			continue;
		}
		uint64_t key = inode_key(file->major, file->minor, file->inode);
		if (newest(table, key) != number)
			continue;
		uint32_t next = first_in_use(table, number, in_use);
		number_map_remove(&table->by_inode, key);
		if (next) /* there is room: one was just removed */
			number_map_put(&table->by_inode, key, (void *)(uintptr_t)next);
	}
	forget_looks(table->looks->found, LOOKS, in_use);
	forget_looks(table->looks->vain, LOOKS_IN_VAIN, in_use);
}
