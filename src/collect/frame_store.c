#include "collect/frame_store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/own_folder.h"
#include "unwind/frame_table.h"

#define MAGIC	    UINT64_C(0x3165726f74736663) /* "cfstore1" */
#define SUFFIX	    ".frames"
#define NAME_SIZE   48
#define SETTLED_NS  INT64_C(2000000000) /* file systems stamp times by ticks */
#define TOUCH_NS    INT64_C(86400000000000)
#define ENTRY_BYTES 4096u /* what a file takes of a disk at least */

/* Before the table. */
struct head {
	uint64_t magic;
	struct hash128 name, content;
};

#define FILE_BYTES_MOST (sizeof(struct head) + (1u << 20) + FRAME_TABLE_WORDS_MOST * 4)

/* Tables that another program made, as an older one of ours, may say something else. */
static struct hash128 own_program(void)
{
	struct stat info = { 0 };
	uint64_t known[5] = { MAGIC };
	if (stat("/proc/self/exe", &info) == 0) {
		known[1] = info.st_dev;
		known[2] = info.st_ino;
		known[3] = (uint64_t)info.st_size;
		known[4] = (uint64_t)info.st_ctim.tv_sec * 1000000000u +
			   (uint64_t)info.st_ctim.tv_nsec;
	}
	return hash128_bytes(known, sizeof(known));
}

void frame_store_init(struct frame_store *store, const char *path)
{
	*store = (struct frame_store){
		.path = path,
		.folder = -1,
		.bytes_most = FRAME_STORE_BYTES_MOST,
		.program = own_program(),
	};
}

void frame_store_release(struct frame_store *store)
{
	if (store->path && store->folder >= 0)
		close(store->folder);
	*store = (struct frame_store){ 0 };
}

static bool open_store(struct frame_store *store, bool make)
{
	if (!store->path || store->refused)
		return false;
	if (store->folder < 0) {
		int fd = own_folder_open(store->path, make);
		store->refused = fd < 0 && (make || fd != -ENOENT);
		store->folder = fd < 0 ? -1 : fd;
	}
	return store->folder >= 0;
}

static struct hash128 name_of(const struct frame_store *store, const struct frame_store_key *key,
			      char text[NAME_SIZE])
{
	uint64_t words[8] = {
		store->program.high,
		store->program.low,
		key->device,
		key->inode,
		key->generation,
		key->size_bytes,
		(uint64_t)key->changed_ns,
		key->build_id_bytes,
	};
	uint8_t bytes[sizeof(words) + sizeof(key->build_id)];
	memcpy(bytes, words, sizeof(words));
	memcpy(bytes + sizeof(words), key->build_id, sizeof(key->build_id));
	struct hash128 name = hash128_bytes(bytes, sizeof(bytes));
	snprintf(text, NAME_SIZE, "%016" PRIx64 "%016" PRIx64 SUFFIX, name.high, name.low);
	return name;
}

static bool is_same(struct hash128 one, struct hash128 other)
{
	return one.high == other.high && one.low == other.low;
}

/* Says that a file was used, at most once a day. */
static void touch(int folder, const char *name)
{
	struct stat info;
	int64_t now_ns = (int64_t)clock_realtime_ns();
	if (fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
	    now_ns - info.st_mtim.tv_sec * INT64_C(1000000000) > TOUCH_NS)
		utimensat(folder, name, NULL, AT_SYMLINK_NOFOLLOW);
}

bool frame_store_find(struct frame_store *store, const struct frame_store_key *key,
		      struct buffer *out)
{
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	char name[NAME_SIZE];
	struct head head;
	if (!open_store(store, false))
		return false;
	struct hash128 hash = name_of(store, key, name);
	if (own_folder_read(store->folder, name, FILE_BYTES_MOST, &bytes) < 0 ||
	    bytes.size < sizeof(head))
		return false;
	memcpy(&head, bytes.data, sizeof(head));
	const uint8_t *table = bytes.data + sizeof(head);
	size_t size = bytes.size - sizeof(head);
	if (head.magic != MAGIC || !is_same(head.name, hash) ||
	    !is_same(head.content, hash128_bytes(table, size)))
		return false;
	buffer_append(out, table, size);
	touch(store->folder, name);
	return true;
}

/* ---- room */

struct kept {
	char *name;
	uint64_t bytes;
	int64_t used_ns;
};

struct kept_list {
	struct kept *entries;
	size_t count, capacity;
	uint64_t bytes;
};

static void kept_release(struct kept_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->entries[i].name);
	free(list->entries);
}

static uint64_t room_of(uint64_t size_bytes)
{
	return (size_bytes + ENTRY_BYTES - 1) / ENTRY_BYTES * ENTRY_BYTES;
}

/* The tables, and what of some was left half-written. 0 or -errno. */
static int list_kept(int folder, struct kept_list *list)
{
	int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *opened = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	struct stat info;
	int ret = opened ? 0 : -errno;
	if (!opened && fd >= 0)
		close(fd);
	while (ret == 0 && (entry = readdir(opened))) {
		if (!strstr(entry->d_name, SUFFIX) ||
		    fstatat(folder, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0 ||
		    !S_ISREG(info.st_mode))
			continue;
		struct kept kept = { strdup(entry->d_name), room_of((uint64_t)info.st_size),
				     info.st_mtim.tv_sec * INT64_C(1000000000) +
					     info.st_mtim.tv_nsec };
		if (!kept.name || array_reserve(&list->entries, &list->capacity, list->count,
						sizeof(*list->entries)) < 0) {
			free(kept.name);
			ret = -ENOMEM;
			break;
		}
		list->entries[list->count++] = kept;
		list->bytes += kept.bytes;
	}
	if (opened)
		closedir(opened);
	return ret;
}

static int compare_use(const void *one, const void *other)
{
	const struct kept *a = one, *b = other;
	return a->used_ns < b->used_ns ? -1 : a->used_ns > b->used_ns;
}

/* Removes the files that were not used longest until a quarter of the room is free. 0 or -errno. */
static int make_room(struct frame_store *store)
{
	CLEANUP(kept_release) struct kept_list list = { 0 };
	int ret = list_kept(store->folder, &list);
	if (ret < 0)
		return ret;
	if (list.bytes > store->bytes_most) {
		qsort(list.entries, list.count, sizeof(*list.entries), compare_use);
		for (size_t i = 0; i < list.count && list.bytes > store->bytes_most / 4 * 3; i++)
			if (unlinkat(store->folder, list.entries[i].name, 0) == 0)
				list.bytes -= list.entries[i].bytes;
	}
	store->bytes = list.bytes;
	store->counted = true;
	return 0;
}

void frame_store_put(struct frame_store *store, const struct frame_store_key *key,
		     struct span table)
{
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	char name[NAME_SIZE];
	struct head head = { .magic = MAGIC, .content = hash128_bytes(table.data, table.size) };
	if ((int64_t)clock_realtime_ns() - key->changed_ns < SETTLED_NS || store->full ||
	    !open_store(store, true))
		return;
	head.name = name_of(store, key, name);
	buffer_append(&bytes, &head, sizeof(head));
	buffer_append(&bytes, table.data, table.size);
	if (buffer_failed(&bytes) || room_of(bytes.size) > store->bytes_most / 4)
		return;
	store->full =
		own_folder_write(store->folder, name, (struct span){ bytes.data, bytes.size }) < 0;
	store->bytes += room_of(bytes.size);
	if (!store->full && (!store->counted || store->bytes > store->bytes_most))
		store->full = make_room(store) < 0;
}
