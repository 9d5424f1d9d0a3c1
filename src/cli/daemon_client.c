#include "cli/daemon_client.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/count_of.h"
#include "base/error.h"
#include "base/number.h"

#define PATIENCE_S  60 /* a daemon that writes an epoch answers late */
#define PATIENCE_NS (PATIENCE_S * UINT64_C(1000000000))
#define AGAIN_NS    UINT64_C(50000000) /* from one try to the next where many wait to be let in */
#define HEAD_BYTES  2048 /* more than an error's sentence has */
#define PIECE_BYTES 65536

static int no_daemon(const char *path, int code, struct error *err)
{
	if (code == -ENOENT || code == -ECONNREFUSED)
		return error_set(err, code,
				 "no daemon answers at '%s'; 'culprit daemon' starts one, --socket "
				 "names another place",
				 path);
	if (code == -EACCES || code == -EPERM)
		return error_set(
			err, code,
			"no right to ask the daemon at '%s': it answers root, its own user, "
			"and members of its group",
			path);
	if (code == -ETIMEDOUT || code == -EAGAIN)
		return error_set(err, code,
				 "the daemon at '%s' has not answered for %d s: it may be stopped "
				 "(SIGCONT has it go on), or its disk may not answer",
				 path, PATIENCE_S);
	return error_set(err, code, "cannot ask the daemon at '%s': %s", path, strerror(-code));
}

/* Waits, so long at most, until the socket (-1: none) has what `events` says. 0, -ETIMEDOUT,
 * -ECANCELED, or another negative errno. */
static int await(int fd, short events, int stop_fd, uint64_t most_ns)
{
	const uint64_t until_ns = clock_monotonic_ns() + most_ns;
	while (true) {
		uint64_t now_ns = clock_monotonic_ns();
		struct pollfd fds[] = { { fd, events, 0 }, { stop_fd, POLLIN, 0 } };
		int left_ms = until_ns > now_ns ? (int)((until_ns - now_ns + 999999) / 1000000) : 0;
		int ready = poll(fds, COUNT_OF(fds), left_ms);
		if (ready < 0 && errno == EINTR)
			continue;
		if (ready < 0)
			return -errno;
		return ready == 0 ? -ETIMEDOUT : fds[1].revents ? -ECANCELED : 0;
	}
}

/* The kernel does not tell when there is room for one more who waits, so it is tried again. */
static int connect_patiently(int fd, const struct sockaddr_un *address, int stop_fd)
{
	const uint64_t until_ns = clock_monotonic_ns() + PATIENCE_NS;
	while (connect(fd, (const struct sockaddr *)address, sizeof(*address)) < 0) {
		int ret = -errno;
		if (ret == -EAGAIN)
			ret = await(-1, 0, stop_fd, AGAIN_NS);
		if (ret == -EINTR || (ret == -ETIMEDOUT && clock_monotonic_ns() < until_ns))
			continue;
		return ret;
	}
	return 0;
}

/* A descriptor that is connected, or a negative errno. */
static int connect_to(const char *path, int stop_fd)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	memcpy(address.sun_path, path, strlen(path) + 1);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	int ret = connect_patiently(fd, &address, stop_fd);
	if (ret == 0)
		return fd;
	close(fd);
	return ret;
}

/* Reads to the end. A daemon that has refused us may be gone before it has read the request: then
 * what it said is there all the same. 0 or a negative errno. */
static int receive(int fd, int stop_fd, struct buffer *bytes)
{
	while (true) {
		int waited = await(fd, POLLIN, stop_fd, PATIENCE_NS);
		void *piece = waited < 0 ? NULL : buffer_extend(bytes, PIECE_BYTES);
		if (!piece)
			return waited < 0 ? waited : -ENOMEM;
		ssize_t got = recv(fd, piece, PIECE_BYTES, 0);
		int ret = -errno;
		bytes->size -= PIECE_BYTES - (size_t)(got > 0 ? got : 0);
		if (got < 0 && (ret == -EINTR || ret == -EAGAIN))
			continue;
		if (got < 0)
			return ret == -ECONNRESET && bytes->size ? 0 : ret;
		if (got == 0)
			return 0;
	}
}

static int misunderstood(const char *path, struct error *err)
{
	return error_set(err, -EPROTO, "what answers at '%s' is no daemon of this version", path);
}

/* Takes the first line off, and appends the rest, of which it says how long it is. */
static int read_answer(const char *path, const struct buffer *bytes, struct buffer *answer,
		       struct error *err)
{
	char head[HEAD_BYTES];
	const uint8_t *end = bytes->size ? memchr(bytes->data, '\n', bytes->size) : NULL;
	size_t length = end ? (size_t)(end - bytes->data) : 0;
	uint64_t size;
	if (!end || length >= sizeof(head) || memchr(bytes->data, 0, length))
		return misunderstood(path, err);
	memcpy(head, bytes->data, length);
	head[length] = 0;
	if (strncmp(head, "error ", 6) == 0)
		return error_set(err, -EREMOTEIO, "the daemon refuses: %.900s", head + 6);
	if (strncmp(head, "ok ", 3) != 0 || !number_parse_u64(head + 3, &size))
		return misunderstood(path, err);
	if (size != bytes->size - length - 1)
		return error_set(err, -EPROTO, "the answer of the daemon at '%s' is incomplete",
				 path);
	buffer_append(answer, end + 1, (size_t)size);
	return buffer_failed(answer) ? error_set(err, -ENOMEM, "out of memory for the answer") : 0;
}

/* A request fits a socket's buffer, unless the system has no memory for it. */
static int send_line(int fd, int stop_fd, const struct buffer *line)
{
	int ret = await(fd, POLLOUT, stop_fd, PATIENCE_NS);
	if (ret < 0)
		return ret;
	ssize_t sent = send(fd, line->data, line->size, MSG_NOSIGNAL);
	return sent < 0 && errno != EPIPE ? -errno : 0;
}

int daemon_client_ask(const char *socket_path, const char *request, int stop_fd,
		      struct buffer *answer, struct error *err)
{
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	CLEANUP(buffer_release) struct buffer line = { 0 };
	CLEANUP(close_fd) int fd = connect_to(socket_path, stop_fd);
	if (fd < 0)
		return no_daemon(socket_path, fd, err);
	buffer_printf(&line, "%s\n", request);
	if (buffer_failed(&line))
		return error_set(err, -ENOMEM, "out of memory for the request");
	int ret = send_line(fd, stop_fd, &line);
	if (ret == 0)
		ret = receive(fd, stop_fd, &bytes);
	return ret < 0 ? no_daemon(socket_path, ret, err)
		       : read_answer(socket_path, &bytes, answer, err);
}
