#include "symbol/reader_helper.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/cursor.h"
#include "base/error.h"
#include "image/identity.h"
#include "symbol/gather.h"
#include "symbol/reader.h"
#include "symbol/reader_message.h"

#define NOBODY		     65534
#define PARSER_ADDRESS_BYTES ((rlim_t)64 << 30) /* files of up to 8 GiB are mapped, some twice */
#define PARSER_MEMORY_BYTES  ((rlim_t)4 << 30)
#define PARSER_OPEN_FILES    64
#define COPY_MAX_BYTES	     ((uint64_t)512 << 20)
#define HELPER_CANNOT_START  71 /* exit status */

#if defined(__SANITIZE_ADDRESS__)
#define ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define ADDRESS_SANITIZER 1
#endif
#endif
#ifdef __SANITIZE_THREAD__
#define ADDRESS_SANITIZER 1
#endif
#ifndef ADDRESS_SANITIZER
#define ADDRESS_SANITIZER 0
#endif

/* Only the socket stays open, as descriptor 3; the terminal's signals are the reader's business. */
static int detach(int *socket)
{
	static const int ignored[] = { SIGINT,	SIGQUIT, SIGTERM, SIGHUP,
				       SIGPIPE, SIGTSTP, SIGUSR1, SIGUSR2 };
	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		signal(ignored[i], SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	signal(SIGALRM, SIG_DFL);
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null < 0)
		return -errno;
	for (int fd = 0; fd < 3; fd++)
		if (dup2(null, fd) < 0)
			return -errno;
	if (*socket != 3 && dup3(*socket, 3, O_CLOEXEC) < 0)
		return -errno;
	*socket = 3;
	if (close_range(4, ~0u, 0) != 0) {
		long limit = sysconf(_SC_OPEN_MAX); /* Linux before 5.9 */
		for (int fd = 4; fd < limit; fd++)
			close(fd);
	}
	return chdir("/") == 0 ? 0 : -errno;
}

static void limit_to(__rlimit_resource_t resource, rlim_t value)
{
	struct rlimit limit = { value, value };
	setrlimit(resource, &limit);
}

/* From here on the process can compute, answer, and read what it is handed. */
static int give_up_rights(void)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return -errno;
	if (geteuid() == 0) {
		/* Root without capabilities still owns root's files. In a user namespace these
		 * users may not exist; then only the capabilities go. */
		if (setgroups(0, NULL) == 0 && setresgid(NOBODY, NOBODY, NOBODY) == 0 &&
		    setresuid(NOBODY, NOBODY, NOBODY) != 0)
			return -errno;
	}
	cap_t none = cap_init();
	if (!none || cap_set_proc(none) != 0)
		return -errno;
	cap_free(none);
	limit_to(RLIMIT_CORE, 0);
	limit_to(RLIMIT_FSIZE, 0);
	limit_to(RLIMIT_NOFILE, PARSER_OPEN_FILES);
	if (!ADDRESS_SANITIZER) {
		limit_to(RLIMIT_AS, PARSER_ADDRESS_BYTES);
		limit_to(RLIMIT_DATA, PARSER_MEMORY_BYTES);
	}
	return 0;
}

/* The reader kills us at the deadline; this is for when the reader itself is gone. */
static void limit_cpu_time(uint32_t timeout_ms)
{
	struct rusage used;
	struct rlimit limit;
	if (getrusage(RUSAGE_SELF, &used) != 0 || getrlimit(RLIMIT_CPU, &limit) != 0)
		return;
	limit.rlim_cur =
		(rlim_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + timeout_ms / 1000 + 3;
	setrlimit(RLIMIT_CPU, &limit);
}

static bool may_block_on_close(int fd)
{
	struct statfs info;
	if (fstatfs(fd, &info) != 0)
		return true;
	switch ((uint32_t)info.f_type) {
	case 0x65735546: /* FUSE, virtiofs */
	case NFS_SUPER_MAGIC:
	case V9FS_MAGIC:
	case SMB_SUPER_MAGIC:
	case 0xff534d42: /* CIFS */
	case 0xfe534d42: /* SMB2 */
	case CODA_SUPER_MAGIC:
	case AFS_SUPER_MAGIC:
	case 0x00c36400: /* Ceph */
		return true;
	default:
		return false;
	}
}

/* Replaces file->fd by a copy in memory. */
static int copy_into_memory(struct safe_file *file, struct error *err)
{
	if (file->size_bytes > COPY_MAX_BYTES)
		return error_set(
			err, -EFBIG,
			"a file of %llu bytes on a FUSE or network file system is too large "
			"to copy",
			(unsigned long long)file->size_bytes);
	CLEANUP(close_fd) int copy = memfd_create("culprit", MFD_CLOEXEC);
	if (copy < 0)
		return error_set(err, -errno, "cannot make room in memory: %s", strerror(errno));
	CLEANUP(free_pointer) uint8_t *piece = malloc(1 << 20);
	if (!piece)
		return error_set(err, -ENOMEM, "out of memory");
	uint64_t total = 0;
	for (;;) {
		ssize_t came = read(file->fd, piece, 1 << 20);
		if (came < 0 && errno == EINTR)
			continue;
		if (came < 0)
			return error_set(err, -errno, "cannot read the file: %s", strerror(errno));
		if (came == 0)
			break;
		total += (uint64_t)came;
		if (total > COPY_MAX_BYTES)
			return error_set(err, -EFBIG, "the file grew while it was read");
		for (ssize_t at = 0; at < came;) {
			ssize_t put = write(copy, piece + at, (size_t)(came - at));
			if (put < 0)
				return error_set(err, -errno, "cannot keep the file in memory: %s",
						 strerror(errno));
			at += put;
		}
	}
	int old = file->fd;
	file->fd = copy;
	file->size_bytes = total;
	copy = old; /* closed here, which may take long */
	return 0;
}

struct open_request {
	pid_t pid;
	struct safe_limits limits;
	uint64_t start, end; /* of a mapping */
	const char *path;
};

static bool read_open_request(const struct message *request, struct open_request *open)
{
	struct cursor cursor = cursor_of(request->payload.data, request->payload.size);
	open->pid = (pid_t)cursor_u64(&cursor);
	open->limits.size_bytes = cursor_u64(&cursor);
	open->limits.owner = (enum safe_owner)cursor_u64(&cursor);
	open->limits.link = (enum safe_link)cursor_u64(&cursor);
	open->start = cursor_u64(&cursor);
	open->end = cursor_u64(&cursor);
	open->path = cursor_text(&cursor).data;
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
	else if (request->header.operation == OPERATION_OPEN_EXECUTABLE)
		ret = safe_open_executable(open.pid, &open.limits, &file, err);
	else
		ret = safe_open_mapping(open.pid, open.start, open.end, &open.limits, &file, err);
	if (ret == 0 && may_block_on_close(file.fd)) {
		ret = copy_into_memory(&file, err);
		if (ret < 0)
			close(file.fd);
	}
	if (ret < 0)
		return ret;
	buffer_append(&answer->payload, &file, sizeof(file));
	answer->fds[0] = file.fd;
	answer->header.fd_count = 1;
	return 0;
}

static int do_identify(const struct message *request, struct message *answer, struct error *err)
{
	struct identity identity;
	if (request->header.fd_count != 1)
		return error_set(err, -EBADMSG, "a request makes no sense");
	int ret = gather_identity(request->fds[0], &identity, err);
	if (ret == 0)
		buffer_append(&answer->payload, &identity, sizeof(identity));
	return ret;
}

static int do_gather(const struct message *request, struct message *answer, struct error *err)
{
	if (request->header.fd_count < 1)
		return error_set(err, -EBADMSG, "a request makes no sense");
	struct record_set records = { 0 };
	struct gather_counts counts;
	int debug_fd = request->header.fd_count > 1 ? request->fds[1] : -1;
	int ret = gather_records(request->fds[0], debug_fd,
				 (const uint64_t *)(const void *)request->payload.data,
				 request->payload.size / sizeof(uint64_t), request->header.what,
				 &records, &counts, err);
	if (ret == 0)
		buffer_append(&answer->payload, &counts, sizeof(counts));
	for (size_t i = 0; ret == 0 && i < records.count; i++) {
		const struct record *record = &records.list[i];
		buffer_append_varint(&answer->payload, record->kind);
		buffer_append_varint(&answer->payload, record->first);
		buffer_append_varint(&answer->payload, record->last);
		buffer_append_varint(&answer->payload, record->content.size);
		buffer_append(&answer->payload, record->content.data, record->content.size);
		if (answer->payload.size > MESSAGE_MAX_BYTES)
			ret = error_set(err, -EFBIG, "the sampled functions have too much code");
	}
	record_set_release(&records);
	return ret;
}

static int do_read(const struct message *request, struct message *answer, struct error *err)
{
	if (request->header.fd_count != 1 || request->payload.size != sizeof(uint64_t))
		return error_set(err, -EBADMSG, "a request makes no sense");
	uint64_t limit;
	memcpy(&limit, request->payload.data, sizeof(limit));
	for (uint64_t at = 0; at <= limit;) {
		size_t step = limit + 1 - at < (1 << 20) ? (size_t)(limit + 1 - at) : 1 << 20;
		size_t before = answer->payload.size;
		void *room = buffer_extend(&answer->payload, step);
		ssize_t came = room ? pread(request->fds[0], room, step, (off_t)at) : 0;
		answer->payload.size = before + (came > 0 ? (size_t)came : 0);
		if (came < 0 && errno != EINTR)
			return error_set(err, -errno, "cannot read the file: %s", strerror(errno));
		if (came == 0)
			break;
		at += came > 0 ? (uint64_t)came : 0;
	}
	return 0;
}

static int serve(const struct message *request, struct message *answer, struct error *err)
{
	switch (request->header.operation) {
	case OPERATION_OPEN_PATH:
	case OPERATION_OPEN_EXECUTABLE:
	case OPERATION_OPEN_MAPPING:
		return do_open(request, answer, err);
	case OPERATION_IDENTIFY:
		return do_identify(request, answer, err);
	case OPERATION_GATHER:
		return do_gather(request, answer, err);
	case OPERATION_READ:
		return do_read(request, answer, err);
	default:
		return error_set(err, -ENOSYS, "a request makes no sense");
	}
}

void reader_helper_run(enum helper_kind kind, int socket)
{
	prctl(PR_SET_NAME, kind == HELPER_OPENER ? "culprit-open" : "culprit-parse", 0, 0, 0);
	if (detach(&socket) < 0 || (kind == HELPER_PARSER && give_up_rights() < 0))
		_exit(HELPER_CANNOT_START);
	struct message request;
	while (message_receive(socket, &request, MESSAGE_NO_DEADLINE) == 0) {
		struct message answer = { 0 };
		struct error err = { 0 };
		if (kind == HELPER_PARSER)
			limit_cpu_time(request.header.timeout_ms);
		int ret = serve(&request, &answer, &err);
		if (ret == 0 && buffer_failed(&answer.payload))
			ret = error_set(&err, -ENOMEM, "out of memory");
		answer.header.code = ret;
		if (ret < 0) {
			buffer_release(&answer.payload);
			buffer_append_text(&answer.payload, err.text);
		}
		ret = message_send(socket, &answer, MESSAGE_NO_DEADLINE);
		message_release(&answer);
		message_release(&request);
		if (ret < 0)
			break;
	}
	_exit(0);
}
