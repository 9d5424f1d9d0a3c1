#include "store/file_source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "store/profile_file.h"
#include "store/profile_writer.h"

/* Offsets in an SQLite file's header (sqlite.org/fileformat2.html, 1.3), big-endian. */
enum {
	HEADER_PAGE_SIZE = 16,
	HEADER_WRITE_VERSION = 18,
	HEADER_READ_VERSION = 19,
	HEADER_PAGES = 28,
	HEADER_ENCODING = 56,
	HEADER_USER_VERSION = 60,
	HEADER_APPLICATION_ID = 68,
};
#define HEADER_MAGIC "SQLite format 3" /* with its NUL */
#define HEADER_WAL   2

static uint32_t big_endian(const uint8_t *at, size_t size)
{
	uint32_t value = 0;
	for (size_t i = 0; i < size; i++)
		value = (value << 8) | at[i];
	return value;
}

void file_source_close(struct file_source *source)
{
	guard_close(&source->guard);
	buffer_release(&source->bytes);
	free(source->name);
	*source = (struct file_source){ 0 };
}

bool profile_file_recognise(const void *bytes, size_t size)
{
	const uint8_t *header = bytes;
	return size >= FILE_SOURCE_HEADER_BYTES &&
	       memcmp(header, HEADER_MAGIC, sizeof(HEADER_MAGIC)) == 0 &&
	       big_endian(header + HEADER_APPLICATION_ID, 4) == PROFILE_FORMAT_APPLICATION_ID;
}

static bool begins_with(const uint8_t *bytes, size_t size, const char *magic, size_t length)
{
	return size >= length && memcmp(bytes, magic, length) == 0;
}

static bool looks_like_text(const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size && i < 512; i++)
		if (bytes[i] < 9 || (bytes[i] > 13 && bytes[i] < 32) || bytes[i] == 127)
			return false;
	return true;
}

static int foreign(const uint8_t *bytes, size_t size, const char *name, struct error *err)
{
	if (begins_with(bytes, size,
			"\x7f"
			"ELF",
			4))
		return error_set(err, -EPROTO,
				 "'%s' is no profile but an ELF file (a program or library)", name);
	if (begins_with(bytes, size, "PERFILE2", 8))
		return error_set(err, -EPROTO, "'%s' is no profile file but a perf.data file",
				 name);
	if (looks_like_text(bytes, size))
		return error_set(err, -EPROTO, "'%s' is no profile but a text file", name);
	return error_set(err, -EPROTO, "'%s' is no profile", name);
}

static int check_length(const uint8_t *header, size_t size, const char *name, struct error *err)
{
	uint64_t page = big_endian(header + HEADER_PAGE_SIZE, 2);
	uint64_t pages = big_endian(header + HEADER_PAGES, 4);
	if (page < 512 || (page & (page - 1)) != 0 || pages == 0)
		return error_set(err, -EBADMSG,
				 "profile '%s' is damaged: its header makes no sense", name);
	if (size < pages * page)
		return error_set(err, -EBADMSG,
				 "profile '%s' is truncated: %zu of its %llu bytes are there", name,
				 size, (unsigned long long)(pages * page));
	if (size > pages * page)
		return error_set(err, -EBADMSG, "profile '%s' is damaged: %zu bytes follow its end",
				 name, size - (size_t)(pages * page));
	return 0;
}

/* What the first bytes tell. */
static int check_header(const uint8_t *bytes, size_t size, const char *name, struct error *err)
{
	size_t magic = size < sizeof(HEADER_MAGIC) ? size : sizeof(HEADER_MAGIC);
	if (size == 0)
		return error_set(err, -EPROTO, "'%s' is no profile: it is empty", name);
	if (memcmp(bytes, HEADER_MAGIC, magic) != 0)
		return foreign(bytes, size, name, err);
	if (size < FILE_SOURCE_HEADER_BYTES)
		return error_set(
			err, -EBADMSG,
			"profile '%s' is truncated: it ends at byte %zu, inside its header", name,
			size);
	if (big_endian(bytes + HEADER_APPLICATION_ID, 4) != PROFILE_FORMAT_APPLICATION_ID)
		return error_set(err, -EPROTO,
				 "'%s' is no profile but an SQLite database of another program",
				 name);
	uint32_t version = big_endian(bytes + HEADER_USER_VERSION, 4);
	if (version > PROFILE_FORMAT_VERSION)
		return error_set(err, -EPROTONOSUPPORT,
				 "profile '%s' has format version %u, and this culprit reads up to "
				 "version %d; a newer culprit is needed",
				 name, version, PROFILE_FORMAT_VERSION);
	if (big_endian(bytes + HEADER_ENCODING, 4) != SQLITE_UTF8)
		return error_set(err, -EBADMSG,
				 "profile '%s' is damaged: its texts are not in UTF-8", name);
	if (version == 0)
		return error_set(err, -EBADMSG, "profile '%s' is damaged: it has no format version",
				 name);
	return 0;
}

static int sqlite_failed(struct file_source *source, int code, struct error *err)
{
	return error_set(err, guard_errno(source->guard.db, code), "cannot read profile '%s': %s",
			 source->name, guard_reason(source->guard.db, code));
}

/*
 * Bytes in WAL mode cannot be opened in memory; with an empty log they hold
 * everything, so we turn the mode's two bytes on our copy.
 */
static int open_copy(struct file_source *source, struct error *err)
{
	/* Pages that are missing read as empty ones: what refers to them is found damaged. */
	uint64_t page = big_endian(source->bytes.data + HEADER_PAGE_SIZE, 2);
	uint64_t whole = page * big_endian(source->bytes.data + HEADER_PAGES, 4);
	if (source->bytes.size < whole && whole - source->bytes.size <= source->bytes.size) {
		size_t missing = (size_t)(whole - source->bytes.size);
		void *room = buffer_extend(&source->bytes, missing);
		if (!room)
			return error_set(err, -ENOMEM, "out of memory reading profile '%s'",
					 source->name);
		memset(room, 0, missing);
	}
	uint8_t *bytes = source->bytes.data;
	if (bytes[HEADER_READ_VERSION] == HEADER_WAL)
		bytes[HEADER_READ_VERSION] = bytes[HEADER_WRITE_VERSION] = 1;
	int code = guard_open_bytes(&source->guard, bytes, source->bytes.size);
	return code == SQLITE_OK ? 0 : sqlite_failed(source, code, err);
}

int file_source_of_bytes(struct file_source *source, const void *bytes, size_t size,
			 const char *name, struct error *err)
{
	int ret = check_header(bytes, size, name, err);
	if (ret == 0)
		ret = check_length(bytes, size, name, err);
	if (ret < 0)
		return ret;
	source->file_bytes = size;
	source->name = strdup(name);
	if (!source->name)
		return error_set(err, -ENOMEM, "out of memory reading profile '%s'", name);
	if (((const uint8_t *)bytes)[HEADER_READ_VERSION] == HEADER_WAL)
		return error_set(err, -EBADMSG, "profile '%s' is damaged: it was never closed",
				 name);
	int code = guard_open_bytes(&source->guard, bytes, size);
	return code == SQLITE_OK ? 0 : sqlite_failed(source, code, err);
}

static int failed(struct error *err, int code, const char *name)
{
	return error_set(err, code, "cannot read '%s': %s", name, strerror(-code));
}

static int open_regular(const char *path, struct stat *found, struct error *err)
{
	/* O_NONBLOCK: a FIFO must not hold us. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return failed(err, -errno, path);
	int ret = 0;
	if (fstat(fd, found) < 0)
		ret = failed(err, -errno, path);
	else if (S_ISDIR(found->st_mode))
		ret = error_set(err, -EISDIR, "cannot read '%s': it is a folder", path);
	else if (!S_ISREG(found->st_mode))
		ret = error_set(err, -ENXIO, "cannot read '%s': it is no regular file", path);
	else if ((uint64_t)found->st_size > FILE_SOURCE_MAX_BYTES)
		ret = error_set(err, -EFBIG, "cannot read '%s': it is larger than 2 GiB", path);
	if (ret == 0)
		return fd;
	close(fd);
	return ret;
}

static int read_all(int fd, struct buffer *out, size_t size, const char *name, struct error *err)
{
	char *room = buffer_extend(out, size);
	if (!room && size)
		return failed(err, -ENOMEM, name);
	size_t done = 0;
	while (done < size) {
		ssize_t got = pread(fd, room + done, size - done, (off_t)done);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return failed(err, -errno, name);
		if (got == 0)
			break;
		done += (size_t)got;
	}
	out->size = done;
	return 0;
}

/* The writer's lock (replace_lock) on byte 0. */
static bool has_writer(int fd)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };
	return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

static uint64_t log_bytes(const char *name)
{
	CLEANUP(free_pointer) char *log = NULL;
	struct stat found;
	if (asprintf(&log, "%s-wal", name) < 0 || stat(log, &found) < 0)
		return 0;
	return (uint64_t)found.st_size;
}

static int open_file(struct file_source *source, const char *path, struct error *err)
{
	struct stat found;
	CLEANUP(close_fd) int fd = open_regular(path, &found, err);
	if (fd < 0)
		return fd;
	source->name = strdup(path);
	if (!source->name)
		return failed(err, -ENOMEM, path);
	int ret = read_all(fd, &source->bytes, (size_t)found.st_size, path, err);
	if (ret < 0)
		return ret;
	uint64_t log = log_bytes(path);
	const uint8_t *bytes = source->bytes.data;
	size_t size = source->bytes.size;
	source->file_bytes = size + log;
	source->being_written = source->is_open_epoch && has_writer(fd);
	if (source->is_open_epoch && size == 0 && log == 0)
		return error_set(err, -ENOENT, "cannot read '%s': nothing was recorded into it",
				 path);
	ret = check_header(bytes, size, path, err);
	if (ret < 0)
		return ret;
	bool wal = bytes[HEADER_READ_VERSION] == HEADER_WAL;
	if (wal && (log || source->being_written)) {
		int code = guard_open_path(&source->guard, path, source->file_bytes);
		return code == SQLITE_OK ? 0 : sqlite_failed(source, code, err);
	}
	struct error fault = { 0 };
	ret = check_length(bytes, size, path, &fault);
	if (ret < 0 && !source->fault) {
		if (err)
			*err = fault;
		return ret;
	}
	if (ret < 0)
		source->fault(source->fault_context, fault.text);
	return open_copy(source, err);
}

int file_source_open_damaged(struct file_source *source, const char *path,
			     void (*fault)(void *context, const char *sentence), void *context,
			     struct error *err)
{
	source->fault = fault;
	source->fault_context = context;
	return file_source_open(source, path, err);
}

int file_source_open(struct file_source *source, const char *path, struct error *err)
{
	struct stat found;
	CLEANUP(free_pointer) char *open_path = NULL;
	size_t length = strlen(path);
	source->is_open_epoch = length > 5 && strcmp(path + length - 5, ".open") == 0;
	if (lstat(path, &found) < 0 && errno == ENOENT && !source->is_open_epoch) {
		if (asprintf(&open_path, "%s.open", path) < 0)
			return failed(err, -ENOMEM, path);
		if (lstat(open_path, &found) == 0) {
			source->is_open_epoch = true;
			return open_file(source, open_path, err);
		}
	}
	return open_file(source, path, err);
}
