/*
 * Attempts to reach others by sockets.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/count_of.h"
#include "support/hostile_acts_private.h"

static long connect_tcp(const struct hostile_scene *scene)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_port = htons((uint16_t)scene->tcp_port),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	if (fd < 0)
		return -errno;
	long ret = hostile_result(connect(fd, (struct sockaddr *)&address, sizeof(address)));
	close(fd);
	return ret;
}

static long listen_tcp(const struct hostile_scene *scene)
{
	(void)scene;
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	if (fd < 0)
		return -errno;
	long ret = hostile_result(bind(fd, (struct sockaddr *)&address, sizeof(address)));
	if (ret == 0)
		ret = hostile_result(listen(fd, 1));
	close(fd);
	return ret;
}

static long make_socket(int family, int type, int protocol)
{
	return hostile_opened(socket(family, type, protocol));
}

static long make_udp(const struct hostile_scene *scene)
{
	(void)scene;
	return make_socket(AF_INET6, SOCK_DGRAM, 0);
}

static long make_netlink(const struct hostile_scene *scene)
{
	(void)scene;
	return make_socket(AF_NETLINK, SOCK_RAW, 0);
}

static long make_pair(const struct hostile_scene *scene)
{
	(void)scene;
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
		return -errno;
	close(pair[0]);
	close(pair[1]);
	return 0;
}

static long connect_unix_to(const char *name, size_t size)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	if (fd < 0)
		return -errno;
	memcpy(address.sun_path, name, size);
	long ret =
		hostile_result(connect(fd, (struct sockaddr *)&address,
				       (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size)));
	close(fd);
	return ret;
}

static long connect_unix(const struct hostile_scene *scene)
{
	return connect_unix_to(scene->unix_socket, strlen(scene->unix_socket) + 1);
}

static long connect_abstract(const struct hostile_scene *scene)
{
	char name[sizeof(scene->abstract_socket) + 1] = "";
	size_t size = strlen(scene->abstract_socket);
	memcpy(name + 1, scene->abstract_socket, size);
	return connect_unix_to(name, size + 1);
}

static const struct hostile_act acts[] = {
	{ "connect by TCP", HOSTILE_WORKS, connect_tcp },
	{ "listen by TCP", HOSTILE_WORKS, listen_tcp },
	{ "make a UDP socket", 0, make_udp },
	{ "make a netlink socket", HOSTILE_WORKS, make_netlink },
	{ "make a pair of sockets", HOSTILE_WORKS, make_pair },
	{ "connect to a unix socket", HOSTILE_WORKS, connect_unix },
	{ "connect to an abstract socket", HOSTILE_WORKS, connect_abstract },
};

const struct hostile_group hostile_networks = { acts, COUNT_OF(acts) };
