#include "store/file_source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/budget.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/small_file.h"
#include "store/database_epochs.h"
#include "store/open_folder.h"
#include "store/page_file.h"
#include "store/profile_header.h"
#include "store/write_ahead_log.h"

#define HEAD_BYTES	 512 /* enough to recognise other kinds of files */
#define READ_PIECE_BYTES (UINT64_C(1) << 20)
/* A file of more bytes than HOLES_BYTES and HOLES_RATIO times its content is refused: SQLite's free
 * pages may be empty, but not most of a file. */
#define HOLES_BYTES  (UINT64_C(32) << 20)
#define HOLES_RATIO  4
#define LOG_ATTEMPTS 5 /* for a log that begins anew while it is read */

void file_source_close(struct file_source *source)
{
	guard_close(&source->guard);
	buffer_release(&source->bytes);
	free(source->name);
	*source = (struct file_source){ 0 };
}

static int sqlite_failed(struct file_source *source, int code, struct error *err)
{
	return error_set(err, guard_errno(source->guard.db, code), "cannot read profile '%s': %s",
			 source->name, guard_reason(source->guard.db, code));
}

/* Opens SQLite over our copy of the bytes, which has its log laid over it: WAL mode is turned off.
 */
static int open_copy(struct file_source *source, struct error *err)
{
	/* Pages that are missing read as empty ones: what refers to them is found damaged. */
	uint64_t whole = profile_header_file_bytes(source->bytes.data);
	if (source->bytes.size < whole && whole - source->bytes.size <= source->bytes.size) {
		size_t missing = (size_t)(whole - source->bytes.size);
		void *room = buffer_extend(&source->bytes, missing);
		if (!room)
			return error_set(err, -ENOMEM, "out of memory reading profile '%s'",
					 source->name);
		memset(room, 0, missing);
	}
	uint8_t *bytes = source->bytes.data;
	profile_header_forget_log(bytes);
	int code = guard_open_bytes(&source->guard, bytes, source->bytes.size);
	return code == SQLITE_OK ? 0 : sqlite_failed(source, code, err);
}

int file_source_of_bytes(struct file_source *source, const void *bytes, size_t size,
			 const char *name, struct error *err)
{
	int ret = profile_header_check(bytes, size, name, err);
	if (ret == 0)
		ret = profile_header_check_length(bytes, size, name, err);
	if (ret < 0)
		return ret;
	source->file_bytes = size;
	source->name = strdup(name);
	if (!source->name)
		return error_set(err, -ENOMEM, "out of memory reading profile '%s'", name);
	if (profile_header_has_log(bytes))
		return error_set(err, -EBADMSG, "profile '%s' is damaged: it was never closed",
				 name);
	int code = guard_open_bytes(&source->guard, bytes, size);
	return code == SQLITE_OK ? 0 : sqlite_failed(source, code, err);
}

static int failed(struct error *err, int code, const char *name)
{
	return error_set(err, code, "cannot read '%s': %s", name, strerror(-code));
}

static int check_regular(int fd, const char *path, struct stat *found, struct error *err)
{
	if (fstat(fd, found) < 0)
		return failed(err, -errno, path);
	if (S_ISDIR(found->st_mode))
		return error_set(err, -EISDIR, "cannot read '%s': it is a folder", path);
	if (!S_ISREG(found->st_mode))
		return error_set(err, -ENXIO, "cannot read '%s': it is no regular file", path);
	if ((uint64_t)found->st_size > FILE_SOURCE_MAX_BYTES)
		return error_set(err, -EFBIG, "cannot read '%s': it is larger than 2 GiB", path);
	return 0;
}

/* O_NONBLOCK: a FIFO must not hold us. */
static int open_at(int folder, const char *name, int more_flags)
{
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | more_flags);
	return fd < 0 ? -errno : fd;
}

static long read_fully(int fd, void *out, size_t size, uint64_t offset)
{
	size_t done = 0;
	while (done < size) {
		ssize_t got = pread(fd, (char *)out + done, size - done, (off_t)(offset + done));
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		done += (size_t)got;
	}
	return (long)done;
}

/* Raises the budget of memory (base/budget.h) by the bytes read, but not by holes, nor twice for
 * the same bytes. */
static void grant(uint64_t *granted, const uint8_t *bytes, size_t size, uint64_t offset)
{
	if (offset >= *granted) {
		budget_read_profile(budget_content_bytes(bytes, size));
		*granted = offset + size;
	}
}

struct log_file {
	int fd; /* -1: none */
	uint64_t granted;
};

static long read_log(void *context, void *out, size_t size, uint64_t offset)
{
	struct log_file *log = context;
	long got = read_fully(log->fd, out, size, offset);
	if (got > 0)
		grant(&log->granted, out, (size_t)got, offset);
	return got;
}

/* Reads the file in pieces, so that one that is mostly a hole is refused before it takes memory. */
static int read_pages(struct file_source *source, int fd, size_t size, struct error *err)
{
	uint64_t content = 0;
	source->bytes.size = 0;
	while (source->bytes.size < size) {
		size_t before = source->bytes.size;
		size_t want = size - before < READ_PIECE_BYTES ? size - before : READ_PIECE_BYTES;
		uint8_t *room = buffer_extend(&source->bytes, want);
		if (!room)
			return failed(err, -ENOMEM, source->name);
		long got = read_fully(fd, room, want, before);
		if (got < 0)
			return failed(err, (int)got, source->name);
		source->bytes.size = before + (size_t)got;
		content += budget_content_bytes(room, (size_t)got);
		grant(&source->granted, room, (size_t)got, before);
		if (source->bytes.size > HOLES_BYTES + HOLES_RATIO * content)
			return error_set(err, -EBADMSG,
					 "profile '%s' is damaged: most of it is empty",
					 source->name);
		if ((size_t)got < want)
			break;
	}
	return 0;
}

/* Reads the file and lays its log over it. 0; -EAGAIN when the log began anew meanwhile; or a
 * negative errno value with *err. */
static int read_together(struct file_source *source, int fd, struct log_file *log,
			 struct error *err)
{
	struct stat found;
	uint64_t log_bytes = 0;
	int ret = check_regular(fd, source->name, &found, err);
	if (ret == 0)
		ret = read_pages(source, fd, (size_t)found.st_size, err);
	if (ret < 0)
		return ret;
	uint64_t size = source->bytes.size;
	if (log->fd >= 0)
		ret = write_ahead_log_apply(read_log, log, &source->bytes, FILE_SOURCE_MAX_BYTES,
					    &log_bytes);
	source->file_bytes = size + log_bytes;
	source->content_bytes =
		budget_content_bytes(source->bytes.data, source->bytes.size) + log_bytes;
	if (ret == -EBADMSG)
		return error_set(err, ret, "profile '%s' is damaged: its log makes no sense",
				 source->name);
	return ret < 0 && ret != -EAGAIN ? failed(err, ret, source->name) : ret;
}

static int read_locked(struct file_source *source, int fd, struct log_file *log, struct error *err)
{
	int ret = -EAGAIN;
	for (int i = 0; ret == -EAGAIN && i < LOG_ATTEMPTS; i++) {
		ret = open_folder_begin_read(fd);
		if (ret < 0)
			break;
		ret = read_together(source, fd, log, err);
		open_folder_end_read(fd);
	}
	return ret == -EBUSY || ret == -EAGAIN
		       ? error_set(err, -EBUSY,
				   "cannot read '%s': it is being written all the time",
				   source->name)
		       : ret;
}

static int open_pages(struct file_source *source, struct error *err)
{
	struct error fault = { 0 };
	const char *name = source->name;
	int ret = profile_header_check(source->bytes.data, source->bytes.size, name, err);
	if (ret < 0)
		return ret;
	ret = profile_header_check_length(source->bytes.data, source->bytes.size, name, &fault);
	if (ret < 0 && !source->fault) {
		if (err)
			*err = fault;
		return ret;
	}
	if (ret < 0)
		source->fault(source->fault_context, fault.text);
	return open_copy(source, err);
}

/* Reads and opens the file `fd` with its log `log` (-1: none), which both stay the caller's. A file
 * that does not begin like a profile is not read further. */
static int open_file(struct file_source *source, int fd, int log, const char *name,
		     struct error *err)
{
	uint8_t head[HEAD_BYTES];
	free(source->name);
	source->name = strdup(name);
	if (!source->name)
		return failed(err, -ENOMEM, name);
	budget_input(source->name);
	long size = read_fully(fd, head, sizeof(head), 0);
	if (size < 0)
		return failed(err, (int)size, name);
	if (source->is_open_epoch && size == 0)
		return error_set(err, -ENOENT, "cannot read '%s': nothing was recorded into it",
				 name);
	int ret = profile_header_check(head, (size_t)size, name, err);
	if (ret < 0)
		return ret;
	source->being_written = source->is_open_epoch && open_folder_has_writer(fd);
	bool logged = profile_header_has_log(head);
	struct log_file its_log = { .fd = logged ? log : -1 };
	ret = logged ? read_locked(source, fd, &its_log, err)
		     : read_together(source, fd, &its_log, err);
	return ret < 0 ? ret : open_pages(source, err);
}

/*
 * Opens the log beside a profile: a descriptor; -1 when there is none, or it belongs to
 * another user than the profile, who may have made it up; or below -1 with *err.
 */
static int open_log(int folder, const char *name, int profile, struct error *err)
{
	struct stat found, whose;
	int fd = open_at(folder, name, O_NOFOLLOW);
	if (fd == -ENOENT || fd == -ELOOP)
		return -1;
	if (fd < 0)
		return failed(err, fd, name);
	int ret = fstat(fd, &found) < 0 || fstat(profile, &whose) < 0 ? failed(err, -EIO, name) : 0;
	if (ret == 0 && S_ISREG(found.st_mode) && found.st_uid == whose.st_uid)
		return fd;
	close(fd);
	return ret < 0 ? ret : -1;
}

int file_source_open_folder(struct file_source *source, int folder, const char *name,
			    struct error *err)
{
	source->is_open_epoch = true;
	CLEANUP(close_fd) int fd = open_at(folder, OPEN_FOLDER_PROFILE, O_NOFOLLOW);
	struct stat found;
	if (fd == -ENOENT)
		return error_set(err, -ENOENT, "cannot read '%s': nothing was recorded into it",
				 name);
	if (fd < 0)
		return failed(err, fd, name);
	int ret = check_regular(fd, name, &found, err);
	if (ret < 0)
		return ret;
	CLEANUP(close_fd) int log = open_log(folder, OPEN_FOLDER_LOG, fd, err);
	return log < -1 ? log : open_file(source, fd, log, name, err);
}

static int open_named(const struct file_source *source, const char *path)
{
	if (!source->no_links)
		return open_at(AT_FDCWD, path, 0);
	int fd = source->is_open_epoch ? open_at(AT_FDCWD, path, O_DIRECTORY | O_NOFOLLOW)
				       : -ENOTDIR;
	return fd == -ENOTDIR ? small_file_open_plain(AT_FDCWD, path) : fd;
}

static int open_path(struct file_source *source, const char *path, struct error *err)
{
	struct stat found;
	CLEANUP(close_fd) int fd = open_named(source, path);
	if (fd < 0)
		return failed(err, fd, path);
	if (source->is_open_epoch && fstat(fd, &found) == 0 && S_ISDIR(found.st_mode))
		return file_source_open_folder(source, fd, path, err);
	int ret = check_regular(fd, path, &found, err);
	if (ret < 0)
		return ret;
	CLEANUP(free_pointer) char *log_path = NULL;
	if (asprintf(&log_path, "%s-wal", path) < 0)
		return failed(err, -ENOMEM, path);
	CLEANUP(close_fd) int log = open_log(AT_FDCWD, log_path, fd, err);
	return log < -1 ? log : open_file(source, fd, log, path, err);
}

int file_source_open_damaged(struct file_source *source, const char *path,
			     void (*fault)(void *context, const char *sentence), void *context,
			     struct error *err)
{
	source->fault = fault;
	source->fault_context = context;
	return file_source_open(source, path, err);
}

bool file_source_recognise(const void *bytes, size_t size)
{
	return profile_header_is_ours(bytes, size);
}

/* Whether a path ends in ".open", or ".damaged" as what was put aside (database_epochs.h), also
 * with the slash that a shell adds to a folder's name. */
static bool is_open_name(const char *path)
{
	struct span name = span_of_text(path);
	while (span_ends_with(name, "/"))
		name.size--;
	return epoch_name_ends_with(name, EPOCH_OPEN_ENDING) ||
	       epoch_name_ends_with(name, EPOCH_DAMAGED_ENDING);
}

bool file_source_is_open_folder(const char *path)
{
	struct stat found;
	if (!is_open_name(path))
		return false;
	CLEANUP(close_fd) int folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0)
		return false;
	if (fstatat(folder, OPEN_FOLDER_PROFILE, &found, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == EACCES; /* another user's: reading it will say so */
	return S_ISREG(found.st_mode);
}

int file_source_open_pages(struct file_source *source, const char *path, struct error *err)
{
	uint8_t head[HEAD_BYTES];
	struct stat found;
	CLEANUP(close_fd) int fd = is_open_name(path) ? -EAGAIN : open_named(source, path);
	if (fd < 0 || fstat(fd, &found) < 0 || !S_ISREG(found.st_mode))
		return -EAGAIN;
	long size = read_fully(fd, head, sizeof(head), 0);
	if (size < PROFILE_HEADER_BYTES || profile_header_has_log(head))
		return -EAGAIN;
	int ret = check_regular(fd, path, &found, err);
	if (ret == 0)
		ret = profile_header_check(head, (size_t)size, path, err);
	if (ret == 0)
		ret = profile_header_check_length(head, (uint64_t)found.st_size, path, err);
	if (ret < 0)
		return ret;
	source->name = strdup(path);
	if (!source->name)
		return failed(err, -ENOMEM, path);
	budget_input(path);
	/* Holes do not count. */
	uint64_t stored = (uint64_t)found.st_blocks * 512;
	source->file_bytes = (uint64_t)found.st_size;
	source->content_bytes = stored < source->file_bytes ? stored : source->file_bytes;
	int code = page_file_open(&source->guard, fd, source->content_bytes);
	return code == SQLITE_OK ? 0 : sqlite_failed(source, code, err);
}

int file_source_open(struct file_source *source, const char *path, struct error *err)
{
	CLEANUP(free_pointer) char *open_name = NULL;
	struct stat found;
	source->is_open_epoch = is_open_name(path);
	if (source->is_open_epoch || lstat(path, &found) == 0 || errno != ENOENT)
		return open_path(source, path, err);
	if (asprintf(&open_name, "%s" EPOCH_OPEN_ENDING, path) < 0)
		return failed(err, -ENOMEM, path);
	if (lstat(open_name, &found) < 0)
		return open_path(source, path, err);
	source->is_open_epoch = true;
	int ret = open_path(source, open_name, err);
	if (ret != -ENOENT || lstat(path, &found) < 0)
		return ret;
	source->is_open_epoch = false; /* closed meanwhile */
	return open_path(source, path, err);
}
