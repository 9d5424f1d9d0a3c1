#include "advice/cost_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/high_fd.h"
#include "base/small_file.h"
#include "machine/event.h"

#define FILE_NAME  "sample-costs"
#define FILE_BYTES 8192u
#define BOOT_SIZE  64

struct entry {
	uint64_t key, at_ns;
	struct sample_cost cost;
};

struct remembered {
	struct entry entries[COST_MEMORY_ENTRIES];
	size_t count;
};

uint64_t cost_memory_key(const struct event *event, unsigned extra)
{
	return hash_bytes_stable(&event->attr, sizeof(event->attr)) + hash_u64_stable(extra);
}

/* Whether a file or folder is the user's, and nobody else can write it. */
static bool is_own(int fd, mode_t kind)
{
	struct stat info;
	return fstat(fd, &info) == 0 && (info.st_mode & S_IFMT) == kind &&
	       info.st_uid == geteuid() && !(info.st_mode & (S_IWGRP | S_IWOTH));
}

/* A descriptor of the folder, or a negative errno. */
static int open_folder(const char *folder, bool make)
{
	if (!folder)
		return -ENOENT;
	if (make && mkdir(folder, 0755) != 0 && errno != EEXIST)
		return -errno;
	int fd = high_fd(open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
	if (fd < 0)
		return -errno;
	if (is_own(fd, S_IFDIR))
		return fd;
	close(fd);
	return -EPERM;
}

static void read_boot(char *boot)
{
	if (small_file_read_line("/proc/sys/kernel/random/boot_id", boot, BOOT_SIZE) < 0)
		boot[0] = 0;
}

/* One line of the file each: a key, when it was measured, what. */
static bool parse_entry(const char *line, struct entry *entry)
{
	return sscanf(line, "%" SCNx64 " %" SCNu64 " %lf %lf %lf %" SCNu64, &entry->key,
		      &entry->at_ns, &entry->cost.ns, &entry->cost.low_ns, &entry->cost.high_ns,
		      &entry->cost.samples) == 6 &&
	       entry->cost.ns > 0 && entry->cost.ns < 1e9;
}

/* What the folder's file says of this boot; nothing where there is none that can be believed. */
static void read_all(int folder, const char *boot, struct remembered *remembered)
{
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	char *rest = NULL;
	remembered->count = 0;
	int fd = small_file_open_plain(folder, FILE_NAME);
	if (fd < 0)
		return;
	bool whole = is_own(fd, S_IFREG) && small_file_read_fd(fd, FILE_BYTES, &bytes) == 0;
	close(fd);
	buffer_append_u8(&bytes, 0);
	if (!whole || buffer_failed(&bytes))
		return;
	char *line = strtok_r((char *)bytes.data, "\n", &rest);
	if (!line || !boot[0] || strcmp(line, boot) != 0)
		return;
	while ((line = strtok_r(NULL, "\n", &rest)) && remembered->count < COST_MEMORY_ENTRIES)
		if (parse_entry(line, &remembered->entries[remembered->count]))
			remembered->count++;
}

bool cost_memory_find(const char *folder, uint64_t key, uint64_t now_ns, struct sample_cost *cost,
		      uint64_t *age_ns)
{
	struct remembered remembered;
	char boot[BOOT_SIZE];
	int fd = open_folder(folder, false);
	if (fd < 0)
		return false;
	read_boot(boot);
	read_all(fd, boot, &remembered);
	close(fd);
	for (size_t i = 0; i < remembered.count; i++) {
		const struct entry *entry = &remembered.entries[i];
		if (entry->key != key || entry->at_ns > now_ns ||
		    now_ns - entry->at_ns > COST_MEMORY_VALID_NS)
			continue;
		*cost = entry->cost;
		*age_ns = now_ns - entry->at_ns;
		return true;
	}
	return false;
}

static void add_entry(struct remembered *remembered, const struct entry *added)
{
	size_t at = remembered->count, oldest = 0;
	for (size_t i = 0; i < remembered->count; i++) {
		if (remembered->entries[i].key == added->key)
			at = i;
		if (remembered->entries[i].at_ns < remembered->entries[oldest].at_ns)
			oldest = i;
	}
	if (at == COST_MEMORY_ENTRIES)
		at = oldest;
	remembered->entries[at] = *added;
	remembered->count += at == remembered->count;
}

static int write_all(int folder, const struct buffer *text)
{
	char name[64];
	snprintf(name, sizeof(name), FILE_NAME ".%d", (int)getpid());
	int fd = high_fd(
		openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
	if (fd < 0)
		return -errno;
	ssize_t written = write(fd, text->data, text->size);
	int ret = written < 0 ? -errno : (size_t)written < text->size ? -ENOSPC : 0;
	if (close(fd) != 0 && ret == 0)
		ret = -errno;
	if (ret == 0 && renameat(folder, name, folder, FILE_NAME) != 0)
		ret = -errno;
	if (ret < 0)
		unlinkat(folder, name, 0);
	return ret;
}

int cost_memory_put(const char *folder, uint64_t key, uint64_t now_ns,
		    const struct sample_cost *cost)
{
	struct remembered remembered;
	char boot[BOOT_SIZE];
	CLEANUP(buffer_release) struct buffer text = { 0 };
	if (!folder || cost->busy_ratio > COST_MEMORY_BUSY)
		return 0;
	int fd = open_folder(folder, true);
	if (fd < 0)
		return fd;
	read_boot(boot);
	read_all(fd, boot, &remembered);
	add_entry(&remembered, &(struct entry){ key, now_ns, *cost });
	buffer_printf(&text, "%s\n", boot);
	for (size_t i = 0; i < remembered.count; i++) {
		const struct entry *entry = &remembered.entries[i];
		buffer_printf(&text, "%016" PRIx64 " %" PRIu64 " %.1f %.1f %.1f %" PRIu64 "\n",
			      entry->key, entry->at_ns, entry->cost.ns, entry->cost.low_ns,
			      entry->cost.high_ns, entry->cost.samples);
	}
	int ret = buffer_failed(&text) ? -ENOMEM : write_all(fd, &text);
	close(fd);
	return ret;
}
