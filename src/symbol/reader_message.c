#include "symbol/reader_message.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

#define RECEIVE_STEP_BYTES                                                                         \
	(1u << 20) /* memory grows with what came, not with what was announced                     \
		    */

void message_release(struct message *message)
{
	for (uint32_t i = 0; i < message->header.fd_count && i < MESSAGE_MAX_FDS; i++)
		if (message->fds[i] >= 0)
			close(message->fds[i]);
	buffer_release(&message->payload);
	*message = (struct message){ 0 };
}

/* How long poll() may wait, or -ETIMEDOUT. */
static int timeout_of(const struct message_watch *watch, int *timeout_ms)
{
	*timeout_ms = watch->look ? (int)MESSAGE_LOOK_MS : -1;
	if (watch->deadline_ns == MESSAGE_NO_DEADLINE)
		return 0;
	uint64_t now = clock_monotonic_ns();
	if (now >= watch->deadline_ns)
		return -ETIMEDOUT;
	uint64_t left_ms = (watch->deadline_ns - now) / 1000000 + 1;
	uint64_t most_ms = watch->look ? MESSAGE_LOOK_MS : 60000;
	*timeout_ms = (int)(left_ms > most_ms ? most_ms : left_ms);
	return 0;
}

/* Waits until the socket is ready. 0, -ETIMEDOUT, what look() said or another negative errno. */
static int wait_for(int socket, short events, const struct message_watch *watch)
{
	for (;;) {
		int timeout_ms;
		int ret = timeout_of(watch, &timeout_ms);
		if (ret < 0)
			return ret;
		struct pollfd ready[] = { { .fd = socket, .events = events },
					  { .fd = watch->wake_fd, .events = POLLIN } };
		int count = poll(ready, 2, timeout_ms);
		if (count < 0 && errno != EINTR)
			return -errno;
		ret = watch->look ? watch->look(watch->context) : 0;
		if (ret < 0)
			return ret;
		if (count > 0 && ready[0].revents)
			return 0;
	}
}

static bool would_block(int number)
{
	return number == EAGAIN || number == EINTR;
}

static int send_all(int socket, const uint8_t *bytes, size_t size,
		    const struct message_watch *watch)
{
	while (size > 0) {
		ssize_t sent = send(socket, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (sent < 0 && !would_block(errno))
			return -errno;
		if (sent < 0) {
			int ret = wait_for(socket, POLLOUT, watch);
			if (ret < 0)
				return ret;
			continue;
		}
		bytes += sent;
		size -= (size_t)sent;
	}
	return 0;
}

static int receive_all(int socket, uint8_t *bytes, size_t size, const struct message_watch *watch)
{
	while (size > 0) {
		ssize_t came = recv(socket, bytes, size, MSG_DONTWAIT);
		if (came == 0)
			return -EPIPE;
		if (came < 0 && !would_block(errno))
			return -errno;
		if (came < 0) {
			int ret = wait_for(socket, POLLIN, watch);
			if (ret < 0)
				return ret;
			continue;
		}
		bytes += came;
		size -= (size_t)came;
	}
	return 0;
}

union control {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(MESSAGE_MAX_FDS * sizeof(int))];
};

int message_send_watched(int socket, const struct message *message,
			 const struct message_watch *watch)
{
	struct message_header header = message->header;
	header.payload_bytes = message->payload.size;
	struct iovec vector = { &header, sizeof(header) };
	struct msghdr envelope = { .msg_iov = &vector, .msg_iovlen = 1 };
	union control control;
	if (header.fd_count) {
		size_t size = header.fd_count * sizeof(int);
		memset(&control, 0, sizeof(control));
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(size);
		memcpy(CMSG_DATA(&control.header), message->fds, size);
		envelope.msg_control = &control;
		envelope.msg_controllen = CMSG_SPACE(size);
	}
	ssize_t sent;
	while ((sent = sendmsg(socket, &envelope, MSG_NOSIGNAL | MSG_DONTWAIT)) < 0) {
		if (!would_block(errno))
			return -errno;
		int ret = wait_for(socket, POLLOUT, watch);
		if (ret < 0)
			return ret;
	}
	int ret = send_all(socket, (uint8_t *)&header + sent, sizeof(header) - (size_t)sent, watch);
	return ret < 0 ? ret
		       : send_all(socket, message->payload.data, message->payload.size, watch);
}

/* Keeps the descriptors that came with the header, and closes those beyond MESSAGE_MAX_FDS. */
static uint32_t take_fds(struct msghdr *envelope, int *fds)
{
	uint32_t count = 0;
	for (struct cmsghdr *part = CMSG_FIRSTHDR(envelope); part;
	     part = CMSG_NXTHDR(envelope, part)) {
		if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
			continue;
		size_t came = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < came; i++) {
			int fd;
			memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof(fd));
			if (count < MESSAGE_MAX_FDS)
				fds[count++] = fd;
			else
				close(fd);
		}
	}
	return count;
}

int message_receive_watched(int socket, struct message *message, const struct message_watch *watch)
{
	*message = (struct message){ 0 };
	struct iovec vector = { &message->header, sizeof(message->header) };
	union control control;
	struct msghdr envelope = { .msg_iov = &vector,
				   .msg_iovlen = 1,
				   .msg_control = &control,
				   .msg_controllen = sizeof(control) };
	ssize_t came;
	while ((came = recvmsg(socket, &envelope, MSG_CMSG_CLOEXEC | MSG_DONTWAIT)) < 0) {
		if (!would_block(errno))
			return -errno;
		int ret = wait_for(socket, POLLIN, watch);
		if (ret < 0)
			return ret;
	}
	if (came == 0)
		return -EPIPE;
	uint32_t fd_count = take_fds(&envelope, message->fds);
	int ret = receive_all(socket, (uint8_t *)&message->header + came,
			      sizeof(message->header) - (size_t)came, watch);
	uint32_t announced = message->header.fd_count;
	message->header.fd_count = fd_count; /* those that are really there */
	uint64_t left = message->header.payload_bytes;
	if (ret == 0 && (announced != fd_count || left > MESSAGE_MAX_BYTES))
		ret = -EBADMSG;
	if (ret == 0 && watch->most_bytes && left > watch->most_bytes)
		ret = -EFBIG;
	while (ret == 0 && left > 0) {
		size_t step = left < RECEIVE_STEP_BYTES ? (size_t)left : RECEIVE_STEP_BYTES;
		uint8_t *room = buffer_extend(&message->payload, step);
		ret = room ? receive_all(socket, room, step, watch) : -ENOMEM;
		left -= step;
	}
	if (ret < 0)
		message_release(message);
	return ret;
}

int message_send(int socket, const struct message *message, uint64_t deadline_ns)
{
	struct message_watch watch = { .deadline_ns = deadline_ns, .wake_fd = -1 };
	return message_send_watched(socket, message, &watch);
}

int message_receive(int socket, struct message *message, uint64_t deadline_ns)
{
	struct message_watch watch = { .deadline_ns = deadline_ns, .wake_fd = -1 };
	return message_receive_watched(socket, message, &watch);
}
