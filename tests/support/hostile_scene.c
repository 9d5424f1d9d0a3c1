#include "support/hostile_scene.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/count_of.h"

#define INHERITED_FD   200
#define INHERITED_SIZE 4096

const char *hostile_path(const struct hostile_scene *scene, const char *name)
{
	static char path[400];
	snprintf(path, sizeof(path), "%s/%s", scene->folder, name);
	return path;
}

static void must(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "the scene cannot be made: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void write_text(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	must(fd >= 0 && write(fd, HOSTILE_SECRET_TEXT, sizeof(HOSTILE_SECRET_TEXT) - 1) ==
				sizeof(HOSTILE_SECRET_TEXT) - 1,
	     path);
	close(fd);
}

static long word = 4711;

/* Keeps the sockets open. */
_Noreturn static void be_victim(int ready)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY); /* not Yama is to refuse it */
	must(write(ready, "x", 1) == 1, "ready");
	for (;;)
		pause();
}

void hostile_scene_make(struct hostile_scene *scene, const char *folder)
{
	*scene = (struct hostile_scene){ .handed = -1, .victim_word = &word, .starter = getpid() };
	snprintf(scene->folder, sizeof(scene->folder), "%s", folder);
	snprintf(scene->secret, sizeof(scene->secret), "%s/secret", folder);
	snprintf(scene->unix_socket, sizeof(scene->unix_socket), "%s/s", folder);
	snprintf(scene->abstract_socket, sizeof(scene->abstract_socket), "culprit-%d", getpid());
	write_text(scene->secret);
	write_text(hostile_path(scene, "removable"));
	write_text(hostile_path(scene, "renamable"));
	must(setenv("HOSTILE_SECRET", "password", 1) == 0, "setenv");
	scene->shared = mmap(NULL, INHERITED_SIZE, PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must((void *)scene->shared != MAP_FAILED, "mmap");
	int fd = open(scene->secret, O_RDONLY | O_CLOEXEC);
	scene->inherited = dup2(fd, INHERITED_FD);
	must(fd >= 0 && scene->inherited >= 0, "dup2");
	close(fd);

	struct sockaddr_in tcp = { .sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_un file = { .sun_family = AF_UNIX };
	struct sockaddr_un abstract = { .sun_family = AF_UNIX };
	socklen_t size = sizeof(tcp);
	int sockets[] = { socket(AF_INET, SOCK_STREAM, 0), socket(AF_UNIX, SOCK_STREAM, 0),
			  socket(AF_UNIX, SOCK_STREAM, 0) };
	memcpy(file.sun_path, scene->unix_socket, sizeof(file.sun_path));
	memcpy(abstract.sun_path + 1, scene->abstract_socket, strlen(scene->abstract_socket));
	must(bind(sockets[0], (struct sockaddr *)&tcp, sizeof(tcp)) == 0 &&
		     getsockname(sockets[0], (struct sockaddr *)&tcp, &size) == 0,
	     "TCP");
	must(bind(sockets[1], (struct sockaddr *)&file, sizeof(file)) == 0, "unix socket");
	must(bind(sockets[2], (struct sockaddr *)&abstract,
		  (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			      strlen(scene->abstract_socket))) == 0,
	     "abstract socket");
	scene->tcp_port = ntohs(tcp.sin_port);
	for (size_t i = 0; i < COUNT_OF(sockets); i++)
		must(listen(sockets[i], 64) == 0, "listen");
	int ready[2];
	char byte;
	must(pipe2(ready, O_CLOEXEC) == 0, "pipe");
	scene->victim = fork();
	must(scene->victim >= 0, "fork");
	if (scene->victim == 0)
		be_victim(ready[1]);
	must(read(ready[0], &byte, 1) == 1, "the victim");
	close(ready[0]);
	close(ready[1]);
	for (size_t i = 0; i < COUNT_OF(sockets); i++)
		close(sockets[i]);
}

bool hostile_scene_is_unharmed(const struct hostile_scene *scene)
{
	char text[64];
	int fd = open(scene->secret, O_RDONLY | O_CLOEXEC);
	ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof(text));
	if (fd >= 0)
		close(fd);
	return size == sizeof(HOSTILE_SECRET_TEXT) - 1 &&
	       memcmp(text, HOSTILE_SECRET_TEXT, sizeof(HOSTILE_SECRET_TEXT) - 1) == 0 &&
	       waitpid(scene->victim, NULL, WNOHANG) == 0 && *scene->shared == 0 &&
	       access(hostile_path(scene, "removable"), F_OK) == 0 &&
	       access(hostile_path(scene, "renamable"), F_OK) == 0 &&
	       access(hostile_path(scene, "made"), F_OK) != 0 &&
	       access(hostile_path(scene, "made2"), F_OK) != 0 &&
	       access(hostile_path(scene, "sub"), F_OK) != 0 &&
	       access(hostile_path(scene, "fifo"), F_OK) != 0;
}

void hostile_scene_end(struct hostile_scene *scene)
{
	kill(scene->victim, SIGKILL);
	waitpid(scene->victim, NULL, 0);
	close(scene->inherited);
	munmap((void *)scene->shared, INHERITED_SIZE);
	unsetenv("HOSTILE_SECRET");
}
