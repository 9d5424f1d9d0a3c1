#include "collect/held_files.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/small_file.h"
#include "symbol/reader.h"

#define FDINFO_LIMIT 65536
#define MOUNT_KEY    "mnt_id:"

/* The mount that a descriptor lies on, which an open one pins; 0: not known. statx() tells it too,
 * but not before Linux 5.8. */
static uint64_t mount_of(int fd)
{
	char path[64];
	CLEANUP(buffer_release) struct buffer text = { 0 };
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	if (small_file_read(path, FDINFO_LIMIT, &text) < 0)
		return 0;
	const char *line = strstr(buffer_text(&text), MOUNT_KEY);
	return line ? strtoull(line + sizeof(MOUNT_KEY) - 1, NULL, 10) : 0;
}

void held_files_init(struct held_files *held, struct reader *reader)
{
	*held = (struct held_files){ .reader = reader };
	CLEANUP(close_fd) int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root >= 0)
		held->root_mount = mount_of(root);
}

bool held_files_harmless(const struct held_files *held, int fd)
{
	return held->root_mount && mount_of(fd) == held->root_mount;
}

bool held_files_room(const struct held_files *held, uint64_t size_bytes, bool by_path)
{
	uint64_t budget = by_path ? COPIES_MOST_BYTES / 2 : COPIES_MOST_BYTES;
	return held->copies < COPIES_MOST && size_bytes <= COPY_MOST_BYTES &&
	       held->copied_bytes <= budget && size_bytes <= budget - held->copied_bytes;
}

int held_files_copy(struct held_files *held, int fd, bool by_path, uint64_t *size_bytes)
{
	struct stat info;
	struct safe_file copy;
	if (fstat(fd, &info) != 0 || info.st_size < 0 ||
	    !held_files_room(held, (uint64_t)info.st_size, by_path) ||
	    reader_copy(held->reader, fd, COPY_MOST_BYTES, &copy, NULL) < 0)
		return -1;
	*size_bytes = copy.size_bytes;
	held_files_count(held, copy.size_bytes);
	return copy.fd;
}

void held_files_count(struct held_files *held, uint64_t size_bytes)
{
	held->copied_bytes += size_bytes;
	held->copies++;
	if (held->copied_bytes > held->copied_most_bytes)
		held->copied_most_bytes = held->copied_bytes;
}

void held_files_drop(struct held_files *held, uint64_t size_bytes)
{
	held->copied_bytes -= size_bytes;
	held->copies--;
}
