#include "count/sampler_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/count_of.h"
#include "base/error.h"
#include "base/high_fd.h"

int sampler_stream_create(struct sampler_stream *stream, const char *path, struct error *err)
{
	struct stat status;
	stream->fd = high_fd(
		open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW, 0600));
	int ret = stream->fd < 0 ? -errno : 0;
	stream->own = ret == 0;
	if (ret == 0 && fstat(stream->fd, &status) < 0)
		ret = -errno;
	/* One that was there keeps its mode unless it is told. */
	if (ret == 0 && S_ISREG(status.st_mode) && fchmod(stream->fd, 0600) < 0)
		ret = -errno;
	if (ret == 0)
		return 0;
	error_set(err, ret, "cannot write '%s': %s", path,
		  ret == -ELOOP ? "it is a symbolic link" : strerror(-ret));
	sampler_stream_close(stream);
	return ret;
}

int sampler_stream_use(struct sampler_stream *stream, int fd, struct error *err)
{
	int flags = fcntl(fd, F_GETFL);
	stream->own = false;
	stream->fd = fd;
	if (flags >= 0 && (flags & O_ACCMODE) != O_RDONLY)
		return 0;
	stream->fd = -1;
	return error_set(err, -EBADF, "cannot write to descriptor %d: it is not open%s", fd,
			 flags < 0 ? "" : " for writing");
}

/*
 * The signals that write(2) raises in this thread, beside the error that it returns, are taken away
 * again: SIGPIPE when no reader is left, SIGXFSZ past RLIMIT_FSIZE. One that waited before stays.
 */
static ssize_t write_without_signal(int fd, const void *bytes, size_t size)
{
	static const int raised[] = { SIGPIPE, SIGXFSZ };
	const struct timespec at_once = { 0, 0 };
	sigset_t blocked, waiting, before, one;
	sigemptyset(&blocked);
	for (size_t i = 0; i < COUNT_OF(raised); i++)
		sigaddset(&blocked, raised[i]);
	pthread_sigmask(SIG_BLOCK, &blocked, &before);
	sigpending(&waiting);
	ssize_t done = write(fd, bytes, size);
	int code = errno;
	for (size_t i = 0; i < COUNT_OF(raised) && done < 0; i++) {
		sigemptyset(&one);
		sigaddset(&one, raised[i]);
		if ((code == EPIPE || code == EFBIG) && !sigismember(&waiting, raised[i]))
			sigtimedwait(&one, NULL, &at_once);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = code;
	return done;
}

static ssize_t write_some(const struct sampler_stream *stream, const uint8_t *bytes, size_t size)
{
	ssize_t done = write_without_signal(stream->fd, bytes, size);
	if (done >= 0)
		return done;
	if (errno == EINTR)
		return 0;
	if (errno != EAGAIN)
		return -errno;
	/* The descriptor does not block: wait as one that does. */
	struct pollfd ready = { .fd = stream->fd, .events = POLLOUT };
	return poll(&ready, 1, -1) < 0 && errno != EINTR ? -errno : 0;
}

int sampler_stream_flush(struct sampler_stream *stream)
{
	size_t at = 0;
	while (at < stream->used && !stream->failure) {
		ssize_t done = write_some(stream, stream->bytes + at, stream->used - at);
		if (done < 0)
			stream->failure = (int)done;
		else
			at += (size_t)done;
	}
	stream->used = 0;
	return stream->failure;
}

void sampler_stream_put(struct sampler_stream *stream, const void *bytes, size_t size)
{
	const uint8_t *from = bytes;
	while (size && !stream->failure) {
		if (stream->used == sizeof(stream->bytes))
			sampler_stream_flush(stream);
		size_t room = sizeof(stream->bytes) - stream->used;
		size_t part = size < room ? size : room;
		memcpy(stream->bytes + stream->used, from, part);
		stream->used += part;
		from += part;
		size -= part;
	}
}

int sampler_stream_close(struct sampler_stream *stream)
{
	int ret = 0;
	/* A file system may tell only now that it was full. */
	if (stream->own && stream->fd >= 0 && close(stream->fd) < 0)
		ret = -errno;
	stream->fd = -1;
	return ret;
}
