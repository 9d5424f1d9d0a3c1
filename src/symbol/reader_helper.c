#include "symbol/reader_helper.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/cursor.h"
#include "base/error.h"
#include "base/sanitizers.h"
#include "image/identity.h"
#include "symbol/file_inode.h"
#include "symbol/file_mount.h"
#include "symbol/gather.h"
#include "symbol/gather_request.h"
#include "symbol/helper_process.h"
#include "symbol/reader_message.h"
#include "symbol/record.h"
#include "symbol/safe_open.h"

#define COPY_MAX_BYTES	   ((uint64_t)512 << 20)
#define STRANGE_DATA_BYTES ((uint64_t)384 << 20)
#define PROCESS_STEP_BYTES 65536u /* of what is under /proc */

/* Whether /proc/PID/maps has the device that fstat() reports for the file. */
static bool is_mapped_as_told(int fd)
{
	struct statfs info;
	if (fstatfs(fd, &info) != 0)
		return false;
	switch ((uint32_t)info.f_type) {
	case EXT4_SUPER_MAGIC:
	case XFS_SUPER_MAGIC:
	case TMPFS_MAGIC:
		return true;
	default:
		return false;
	}
}

/* Replaces file->fd by a copy in memory, and closes the former, which may block. */
static int copy_into_memory(struct safe_file *file, uint64_t limit_bytes, struct error *err)
{
	if (file->size_bytes > limit_bytes)
		return error_set(err, -EFBIG, "a file of %llu bytes is too large to copy",
				 (unsigned long long)file->size_bytes);
	CLEANUP(close_fd) int copy = memfd_create("culprit", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (copy < 0)
		return error_set(err, -errno, "cannot make room in memory: %s", strerror(errno));
	CLEANUP(free_pointer) uint8_t *piece = malloc(1 << 20);
	if (!piece)
		return error_set(err, -ENOMEM, "out of memory");
	uint64_t total = 0;
	for (;;) {
		ssize_t came = pread(file->fd, piece, 1 << 20, (off_t)total);
		if (came < 0 && errno == EINTR)
			continue;
		if (came < 0)
			return error_set(err, -errno, "cannot read the file: %s", strerror(errno));
		if (came == 0)
			break;
		total += (uint64_t)came;
		if (total > limit_bytes)
			return error_set(err, -EFBIG, "the file grew while it was read");
		for (ssize_t at = 0; at < came;) {
			ssize_t put = write(copy, piece + at, (size_t)(came - at));
			if (put < 0)
				return error_set(err, -errno, "cannot keep the file in memory: %s",
						 strerror(errno));
			at += put;
		}
	}
	/* So that a parser that was taken over cannot change what others read after it. */
	fcntl(copy, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
	int old = file->fd;
	file->fd = copy;
	file->size_bytes = total;
	file->copied = true;
	copy = old; /* closed here */
	return 0;
}

struct open_request {
	pid_t pid;
	struct safe_limits limits;
	uint64_t start, end; /* of a mapping */
	const char *path, *root;
};

static bool read_open_request(const struct message *request, struct open_request *open)
{
	struct cursor cursor = cursor_of(request->payload.data, request->payload.size);
	open->pid = (pid_t)cursor_u64(&cursor);
	open->limits.size_bytes = cursor_u64(&cursor);
	open->limits.owner = (enum safe_owner)cursor_u64(&cursor);
	open->limits.user = (uint32_t)cursor_u64(&cursor);
	open->limits.link = (enum safe_link)cursor_u64(&cursor);
	open->start = cursor_u64(&cursor);
	open->end = cursor_u64(&cursor);
	open->path = cursor_text(&cursor).data;
	open->root = cursor_text(&cursor).data;
	return !cursor.failed;
}

static int do_open(const struct message *request, struct message *answer, struct error *err)
{
	struct open_request open;
	struct safe_file file;
	if (!read_open_request(request, &open))
		return error_set(err, -EBADMSG, "a request makes no sense");
	int ret;
	if (request->header.operation == OPERATION_OPEN_PATH)
		ret = safe_open_path(open.pid, open.path, &open.limits, &file, err);
	else if (request->header.operation == OPERATION_OPEN_BELOW)
		ret = safe_open_below(open.root, open.path, &open.limits, &file, err);
	else if (request->header.operation == OPERATION_OPEN_EXECUTABLE)
		ret = safe_open_executable(open.pid, &open.limits, &file, err);
	else
		ret = safe_open_mapping(open.pid, open.start, open.end, &open.limits, &file, err);
	if (ret < 0)
		return ret;
	if (!is_mapped_as_told(file.fd))
		file_inode_mapped(file.fd, &file.mapped_device, &file.mapped_inode);
	/* So that no close() blocks the reader, or this process after its answer. */
	if (!file_mount_answers_itself(file.fd, open.pid))
		ret = copy_into_memory(&file, COPY_MAX_BYTES, err);
	if (ret < 0) {
		close(file.fd);
		return ret;
	}
	buffer_append(&answer->payload, &file, sizeof(file));
	answer->fds[0] = file.fd;
	answer->header.fd_count = 1;
	return 0;
}

static int do_copy(const struct message *request, struct message *answer, struct error *err)
{
	struct stat info;
	struct safe_file file = { .fd = -1 };
	uint64_t limit;
	if (request->header.fd_count != 1 || request->payload.size != sizeof(limit))
		return error_set(err, -EBADMSG, "a request makes no sense");
	memcpy(&limit, request->payload.data, sizeof(limit));
	if (fstat(request->fds[0], &info) != 0 || info.st_size < 0)
		return error_set(err, -EIO, "cannot examine the file");
	file.size_bytes = (uint64_t)info.st_size;
	file.fd = fcntl(request->fds[0], F_DUPFD_CLOEXEC, 0);
	if (file.fd < 0)
		return error_set(err, -errno, "cannot copy the file: %s", strerror(errno));
	int ret = copy_into_memory(&file, limit, err);
	if (ret < 0) {
		close(file.fd);
		return ret;
	}
	buffer_append(&answer->payload, &file, sizeof(file));
	answer->fds[0] = file.fd;
	answer->header.fd_count = 1;
	return 0;
}

/* Reads as much as comes within half the deadline: a part is better than nothing. */
static int do_read_process(const struct message *request, struct message *answer, struct error *err)
{
	char path[64];
	struct cursor cursor = cursor_of(request->payload.data, request->payload.size);
	uint64_t limit = cursor_u64(&cursor);
	pid_t pid = (pid_t)cursor_u64(&cursor);
	pid_t tid = (pid_t)cursor_u64(&cursor);
	const char *name = request->header.what == READER_PROCESS_MAPS ? "maps" : "stat";
	if (cursor.failed || pid <= 0 || tid < 0)
		return error_set(err, -EBADMSG, "a request makes no sense");
	if (tid)
		snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", pid, tid, name);
	else
		snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	uint64_t begin_ns = clock_monotonic_ns();
	uint64_t most_ns = request->header.timeout_ms * UINT64_C(500000);
	CLEANUP(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return error_set(err, -errno, "cannot open '%s': %s", path, strerror(errno));
	while (answer->payload.size < limit && clock_monotonic_ns() - begin_ns < most_ns) {
		uint64_t left = limit - answer->payload.size;
		size_t step = left < PROCESS_STEP_BYTES ? (size_t)left : PROCESS_STEP_BYTES;
		void *room = buffer_extend(&answer->payload, step);
		ssize_t came = room ? read(fd, room, step) : 0;
		int cause = errno;
		answer->payload.size -= room ? step - (came > 0 ? (size_t)came : 0) : 0;
		if (came < 0 && cause != EINTR)
			return error_set(err, -cause, "cannot read '%s': %s", path,
					 strerror(cause));
		if (came == 0)
			break;
	}
	return 0;
}

static int do_identify(const struct message *request, struct message *answer, struct error *err)
{
	struct identity identity;
	if (request->header.fd_count != 1)
		return error_set(err, -EBADMSG, "a request makes no sense");
	const struct span unique = { request->payload.data, request->payload.size };
	int ret = gather_identity(request->fds[0], (enum content_kind)request->header.what, unique,
				  &identity, err);
	if (ret == 0)
		buffer_append(&answer->payload, &identity, sizeof(identity));
	return ret;
}

static int do_frame_table(const struct message *request, struct message *answer, struct error *err)
{
	if (request->header.fd_count != 1)
		return error_set(err, -EBADMSG, "a request makes no sense");
	return gather_frame_table(request->fds[0], &answer->payload, err);
}

static int put_records(struct buffer *payload, const struct gather_counts *counts,
		       const struct record_set *records, struct error *err)
{
	buffer_append(payload, counts, sizeof(*counts));
	for (size_t i = 0; i < records->count; i++) {
		const struct record *record = &records->list[i];
		buffer_append_varint(payload, record->kind);
		buffer_append_varint(payload, record->first);
		buffer_append_varint(payload, record->last);
		buffer_append_varint(payload, record->content.size);
		buffer_append(payload, record->content.data, record->content.size);
		if (payload->size > MESSAGE_MAX_BYTES)
			return error_set(err, -EFBIG, "the sampled functions have too much code");
	}
	return 0;
}

/* Sends the complete records ahead of the rest. */
static int send_part(void *context, const struct record_set *records,
		     const struct gather_counts *counts, unsigned int done)
{
	struct error *err = context;
	struct message part = { .header.what = done };
	int ret = put_records(&part.payload, counts, records, err);
	if (ret < 0) {
		message_release(&part);
		return ret;
	}
	ret = helper_answer_part(&part);
	return ret < 0 ? error_set(err, ret, "out of memory") : 0;
}

static int do_gather(const struct message *request, struct message *answer, struct error *err)
{
	if (request->header.fd_count < 1)
		return error_set(err, -EBADMSG, "a request makes no sense");
	CLEANUP(record_set_release) struct record_set records = { 0 };
	struct gather_counts counts;
	struct gather_parts parts = { .take = send_part, .context = err };
	int debug_fd = request->header.fd_count > 1 ? request->fds[1] : -1;
	int ret = gather_records(request->fds[0], debug_fd,
				 (const uint64_t *)(const void *)request->payload.data,
				 request->payload.size / sizeof(uint64_t), request->header.what,
				 &records, &counts, &parts, err);
	answer->header.what = request->header.what;
	return ret < 0 ? ret : put_records(&answer->payload, &counts, &records, err);
}

static int do_read(const struct message *request, struct message *answer, struct error *err)
{
	struct cursor cursor = cursor_of(request->payload.data, request->payload.size);
	uint64_t limit = cursor_u64(&cursor);
	uint64_t offset = cursor_u64(&cursor);
	if (request->header.fd_count != 1 || cursor.failed ||
	    offset > INT64_MAX - MESSAGE_MAX_BYTES)
		return error_set(err, -EBADMSG, "a request makes no sense");
	for (uint64_t at = 0; at <= limit;) {
		size_t step = limit + 1 - at < (1 << 20) ? (size_t)(limit + 1 - at) : 1 << 20;
		size_t before = answer->payload.size;
		void *room = buffer_extend(&answer->payload, step);
		ssize_t came = room ? pread(request->fds[0], room, step, (off_t)(offset + at)) : 0;
		answer->payload.size = before + (came > 0 ? (size_t)came : 0);
		if (came < 0 && errno != EINTR)
			return error_set(err, -errno, "cannot read the file: %s", strerror(errno));
		if (came == 0)
			break;
		at += came > 0 ? (uint64_t)came : 0;
	}
	return 0;
}

static int serve(void *context, const struct message *request, struct message *answer,
		 struct error *err)
{
	(void)context;
	switch (request->header.operation) {
	case OPERATION_OPEN_PATH:
	case OPERATION_OPEN_BELOW:
	case OPERATION_OPEN_EXECUTABLE:
	case OPERATION_OPEN_MAPPING:
		return do_open(request, answer, err);
	case OPERATION_COPY:
		return do_copy(request, answer, err);
	case OPERATION_READ_PROCESS:
		return do_read_process(request, answer, err);
	case OPERATION_IDENTIFY:
		return do_identify(request, answer, err);
	case OPERATION_GATHER:
		return do_gather(request, answer, err);
	case OPERATION_FRAME_TABLE:
		return do_frame_table(request, answer, err);
	case OPERATION_READ:
		return do_read(request, answer, err);
	default:
		return error_set(err, -ENOSYS, "a request makes no sense");
	}
}

void reader_helper_open(int socket)
{
	helper_serve(&(struct helper_service){ .name = "culprit-open", .serve = serve }, socket);
}

/* Sends a question to the reader, while its request is served. The question is emptied. */
static int ask_back(struct message *question, struct message *answer)
{
	int ret = message_send(HELPER_SOCKET, question, MESSAGE_NO_DEADLINE);
	buffer_release(&question->payload);
	if (ret == 0)
		ret = message_receive(HELPER_SOCKET, answer, MESSAGE_NO_DEADLINE);
	if (ret < 0)
		return ret;
	ret = answer->header.code;
	if (ret < 0)
		message_release(answer);
	return ret;
}

/* In place of open(2) for libdw, which opens further files with DWARF. */
static int open_part(void *context, const char *path)
{
	(void)context;
	struct message question = { .header.operation = OPERATION_WANT_FILE };
	struct message answer;
	buffer_append_text(&question.payload, path);
	buffer_append_u8(&question.payload, 0);
	int ret = ask_back(&question, &answer);
	if (ret < 0)
		return ret;
	int fd = answer.header.fd_count == 1 ? answer.fds[0] : -ENOENT;
	answer.header.fd_count = fd >= 0 ? 0 : answer.header.fd_count; /* libdw's from here on */
	message_release(&answer);
	return fd;
}

/* In place of readlink(2) of a descriptor's path, from which libdw resolves relative names. */
static long name_file(void *context, int fd, char *name, size_t size)
{
	(void)context;
	struct message question = { .header = { .operation = OPERATION_WANT_NAME, .fd_count = 1 },
				    .fds = { fd } };
	struct message answer;
	int ret = ask_back(&question, &answer);
	if (ret < 0)
		return ret;
	if (size > answer.payload.size)
		size = answer.payload.size;
	memcpy(name, answer.payload.data, size);
	message_release(&answer);
	return (long)size;
}

void reader_helper_parse(int socket)
{
	helper_serve(&(struct helper_service){ .name = "culprit-parse",
					       .serve = serve,
					       .without_rights = true,
					       .open = THREAD_SANITIZER ? NULL : open_part,
					       .name_of = name_file },
		     socket);
}

void reader_helper_parse_strange(int socket)
{
	helper_serve(&(struct helper_service){ .name = "culprit-parse",
					       .serve = serve,
					       .without_rights = true,
					       .data_bytes = STRANGE_DATA_BYTES,
					       .open = THREAD_SANITIZER ? NULL : open_part,
					       .name_of = name_file },
		     socket);
}
