#include "daemon/control.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "store/replace_file.h"

#define REQUEST_NS  5000000000u
#define ANSWER_NS   10000000000u
#define SECOND_NS   1000000000u
#define LET_IN_MOST 50 /* a second */
#define GROUPS_MOST 1024
#define BACKLOG	    32
#define SOCKET_MODE 0660
#define LISTENER    CONTROL_CLIENTS /* its number among the descriptors that are waited for */

/* ---- the socket */

static int failed(struct error *err, int code, const char *path)
{
	return error_set(err, code, "cannot make the socket '%s': %s", path, strerror(-code));
}

/* The lock keeps a second daemon from taking the socket of one that runs. */
static int lock(struct control *control, struct error *err)
{
	char *path = NULL;
	if (asprintf(&path, "%s.lock", control->path) < 0)
		return failed(err, -ENOMEM, control->path);
	control->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	int ret = control->lock_fd < 0 ? -errno : replace_lock(control->lock_fd);
	if (ret == -EAGAIN)
		ret = error_set(err, -EBUSY, "another daemon has the socket '%s'", control->path);
	else if (ret < 0)
		ret = error_set(err, ret, "cannot lock '%s': %s", path, strerror(-ret));
	free(path);
	return ret;
}

/* Whether somebody listens there, who may not know of our lock. */
static bool is_alive(const struct sockaddr_un *address)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool refused = fd >= 0 &&
		       connect(fd, (const struct sockaddr *)address, sizeof(*address)) < 0 &&
		       errno == ECONNREFUSED;
	if (fd >= 0)
		close(fd);
	return !refused;
}

/* Removes a socket that nobody listens to; nothing else. */
static int remove_leftover(const struct sockaddr_un *address)
{
	struct stat found;
	if (lstat(address->sun_path, &found) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(found.st_mode))
		return -EEXIST;
	if (is_alive(address))
		return -EADDRINUSE;
	return unlink(address->sun_path) < 0 ? -errno : 0;
}

static int listen_at(struct control *control)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	if (strlen(control->path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	memcpy(address.sun_path, control->path, strlen(control->path) + 1);
	int ret = remove_leftover(&address);
	if (ret < 0)
		return ret;
	control->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (control->listen_fd < 0)
		return -errno;
	/* Made for nobody else, and opened to the group before anybody can connect. */
	mode_t before = umask(0777 & ~SOCKET_MODE);
	ret = bind(control->listen_fd, (struct sockaddr *)&address, sizeof(address)) < 0 ? -errno
											 : 0;
	umask(before);
	if (ret < 0) {
		close(control->listen_fd);
		control->listen_fd = -1;
		return ret;
	}
	return listen(control->listen_fd, BACKLOG) < 0 ? -errno : 0;
}

static int watch(const struct control *control, int fd, uint32_t number, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.u32 = number };
	return epoll_ctl(control->poll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

int control_open(struct control *control, const char *path, const struct control_handler *handler,
		 struct error *err)
{
	*control = CONTROL_NONE;
	for (size_t i = 0; i < CONTROL_CLIENTS; i++)
		control->clients[i].fd = -1;
	control->handler = handler;
	control->path = strdup(path);
	if (!control->path)
		return failed(err, -ENOMEM, path);
	int ret = lock(control, err);
	if (ret < 0)
		return ret;
	control->poll_fd = epoll_create1(EPOLL_CLOEXEC);
	ret = control->poll_fd < 0 ? -errno : listen_at(control);
	if (ret == 0)
		ret = watch(control, control->listen_fd, LISTENER, EPOLLIN);
	if (ret < 0)
		return failed(err, ret, path);
	control->listening = true;
	return 0;
}

/* ---- clients */

static void drop(struct control_client *client)
{
	if (client->fd >= 0)
		close(client->fd); /* which ends the waiting for it */
	client->fd = -1;
	client->request_bytes = client->sent_bytes = 0;
	buffer_release(&client->answer);
}

void control_release(struct control *control)
{
	if (!control->path)
		return;
	for (size_t i = 0; i < CONTROL_CLIENTS; i++)
		drop(&control->clients[i]);
	if (control->listen_fd >= 0) {
		close(control->listen_fd);
		unlink(control->path);
	}
	if (control->poll_fd >= 0)
		close(control->poll_fd);
	if (control->lock_fd >= 0)
		close(control->lock_fd);
	free(control->path);
	*control = CONTROL_NONE;
}

enum control_rights control_rights_of(uid_t user, const gid_t *groups, size_t group_count)
{
	if (user == 0 || user == geteuid())
		return CONTROL_ALL;
	for (size_t i = 0; i < group_count; i++)
		if (groups[i] == getegid())
			return CONTROL_LOOK;
	return CONTROL_NOTHING;
}

/* Whoever's groups cannot be read has its first group alone. */
static enum control_rights rights_of_peer(int fd)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
		return CONTROL_NOTHING;
	gid_t groups[GROUPS_MOST] = { peer.gid };
	socklen_t group_bytes = sizeof(groups) - sizeof(groups[0]);
	size_t count = 1;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, &groups[1], &group_bytes) == 0)
		count += group_bytes / sizeof(groups[0]);
	return control_rights_of(peer.uid, groups, count);
}

static void begin_answer(struct control_client *client, uint64_t now_ns)
{
	client->sent_bytes = 0;
	client->deadline_ns = now_ns + ANSWER_NS;
}

static void answer_error(struct control_client *client, const char *sentence, uint64_t now_ns)
{
	buffer_release(&client->answer);
	buffer_printf(&client->answer, "error %s\n", sentence);
	begin_answer(client, now_ns);
}

/* Lets one client in. False: nobody waits, or there is no place. */
static bool let_in(struct control *control, uint64_t now_ns)
{
	size_t place = 0;
	while (place < CONTROL_CLIENTS && control->clients[place].fd >= 0)
		place++;
	if (place == CONTROL_CLIENTS)
		return false;
	struct control_client *client = &control->clients[place];
	int fd = accept4(control->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0) {
		/* One that cannot be taken (no descriptor is left) would keep the queue readable.
		 */
		if (errno != EAGAIN && errno != ECONNABORTED)
			control->let_in = LET_IN_MOST;
		return false;
	}
	control->let_in++;
	client->fd = fd;
	client->rights = rights_of_peer(fd);
	client->deadline_ns = now_ns + REQUEST_NS;
	if (client->rights == CONTROL_NOTHING) {
		control->refused++;
		answer_error(client,
			     "this daemon answers root, its own user, and its group's members",
			     now_ns);
	}
	if (watch(control, fd, (uint32_t)place, EPOLLIN | EPOLLOUT | EPOLLET) < 0)
		drop(client);
	return true;
}

/* Asks the owner, and puts the first line before what it answers. */
static void answer(struct control *control, struct control_client *client)
{
	uint64_t before_ns = clock_monotonic_ns();
	struct buffer body = { 0 };
	struct error err = { 0 };
	int ret = control->handler->answer(control->handler->context, client->request,
					   client->rights, &body, &err);
	/* However long that took, it is not the clients' fault. */
	control->now_ns += clock_monotonic_ns() - before_ns;
	if (ret == 0 && buffer_failed(&body))
		ret = error_set(&err, -ENOMEM, "out of memory for the answer");
	if (ret < 0) {
		answer_error(client, err.text, control->now_ns);
	} else {
		buffer_printf(&client->answer, "ok %zu\n", body.size);
		buffer_append(&client->answer, body.data, body.size);
		begin_answer(client, control->now_ns);
	}
	buffer_release(&body);
	if (buffer_failed(&client->answer))
		drop(client);
}

/* A label may be in any language. */
static bool is_text(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			return false;
	return true;
}

/* What came so far may be a whole line. False: it is not yet. */
static bool take_line(struct control *control, struct control_client *client)
{
	uint64_t now_ns = control->now_ns;
	char *end = memchr(client->request, '\n', client->request_bytes);
	if (!end && client->request_bytes < sizeof(client->request))
		return false;
	if (!end) {
		answer_error(client, "the request is longer than 1024 bytes", now_ns);
		return true;
	}
	*end = 0;
	if (memchr(client->request, 0, (size_t)(end - client->request)) ||
	    !is_text(client->request))
		answer_error(client, "the request is no line of text", now_ns);
	else
		answer(control, client);
	return true;
}

/* Reads what is there. False: the client is gone. */
static bool receive(struct control *control, struct control_client *client)
{
	while (!client->answer.size) {
		ssize_t got = recv(client->fd, client->request + client->request_bytes,
				   sizeof(client->request) - client->request_bytes, 0);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && errno == EAGAIN)
			return true;
		if (got <= 0)
			return false;
		client->request_bytes += (size_t)got;
		if (take_line(control, client))
			return client->fd >= 0;
	}
	return true;
}

/* Sends what it takes. False: it has everything, or is gone. */
static bool send_answer(struct control_client *client, uint64_t now_ns)
{
	while (client->sent_bytes < client->answer.size) {
		ssize_t sent = send(client->fd, client->answer.data + client->sent_bytes,
				    client->answer.size - client->sent_bytes, MSG_NOSIGNAL);
		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0)
			return errno == EAGAIN;
		client->sent_bytes += (size_t)sent;
		client->deadline_ns = now_ns + ANSWER_NS;
	}
	return client->answer.size == 0;
}

/* What has come in time is read first, however late we are. */
static void serve_client(struct control *control, struct control_client *client)
{
	if (client->fd < 0)
		return;
	if (!receive(control, client) || !send_answer(client, control->now_ns) ||
	    control->now_ns >= client->deadline_ns)
		drop(client);
}

/* Waits for new clients while there is room for them. A queue that nobody takes from would poll
 * readable all the time. */
static void keep_listening(struct control *control, bool wanted)
{
	if (wanted == control->listening)
		return;
	struct epoll_event event = { .events = wanted ? EPOLLIN : 0, .data.u32 = LISTENER };
	if (epoll_ctl(control->poll_fd, EPOLL_CTL_MOD, control->listen_fd, &event) == 0)
		control->listening = wanted;
}

static bool has_room(const struct control *control)
{
	for (size_t i = 0; i < CONTROL_CLIENTS; i++)
		if (control->clients[i].fd < 0)
			return control->let_in < LET_IN_MOST;
	return false;
}

void control_serve(struct control *control, uint64_t now_ns)
{
	if (control->listen_fd < 0)
		return;
	control->now_ns = now_ns;
	/* What is ready is found by trying, since there are few; this only ends the readiness. */
	struct epoll_event events[CONTROL_CLIENTS + 1];
	epoll_wait(control->poll_fd, events, CONTROL_CLIENTS + 1, 0);
	if (now_ns - control->second_ns >= SECOND_NS) {
		control->second_ns = now_ns;
		control->let_in = 0;
	}
	for (size_t i = 0; i < CONTROL_CLIENTS; i++)
		serve_client(control, &control->clients[i]);
	while (has_room(control) && let_in(control, control->now_ns))
		;
	for (size_t i = 0; i < CONTROL_CLIENTS; i++)
		serve_client(control, &control->clients[i]);
	keep_listening(control, has_room(control));
}

int control_poll_fd(const struct control *control)
{
	return control->poll_fd;
}

uint64_t control_next_ns(const struct control *control)
{
	uint64_t next_ns = UINT64_MAX;
	if (control->listen_fd < 0)
		return next_ns;
	for (size_t i = 0; i < CONTROL_CLIENTS; i++)
		if (control->clients[i].fd >= 0 && control->clients[i].deadline_ns < next_ns)
			next_ns = control->clients[i].deadline_ns;
	if (!control->listening && control->second_ns + SECOND_NS < next_ns)
		next_ns = control->second_ns + SECOND_NS;
	return next_ns;
}
