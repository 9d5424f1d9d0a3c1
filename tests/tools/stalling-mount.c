/*
 * stalling-mount - a user's own file system that stops answering somebody: FUSE in a user namespace
 * of its own, an overlay over it, and a program that runs from there.
 *
 *	stalling-mount DEVICE FOLDER PROGRAM CALLER PARENT OPERATION
 *
 * DEVICE is /dev/fuse or a node of its own that the user may open. In FOLDER it makes fuse/, empty/
 * and merged/, and runs merged/prog in FOLDER, which has PROGRAM's bytes. It never answers what a
 * process named CALLER ("": any), with a parent of the name PARENT ("": any), asks by OPERATION
 * (linux/fuse.h: 15 reads, 16 writes, also what was mapped, 25 is a descriptor's close());
 *"stalled" goes to stdout each time. Ends all when it is killed. Exit 77: no such mounts here, and
 *why.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define CANNOT	    77
#define READ_BYTES  (1u << 20)
#define ROOT_NODE   1u
#define PROG_NODE   2u
#define VALID_S	    3600u
#define OLDEST_FUSE 31u /* what is answered here is of that minor version */

struct server {
	int device;
	const uint8_t *program;
	size_t size_bytes;
	const char *caller, *parent;
	uint32_t operation;
};

static void cannot(const char *what)
{
	fprintf(stderr, "no %s: %s\n", what, strerror(errno));
	exit(CANNOT);
}

static void answer(const struct server *server, uint64_t unique, int code, const void *content,
		   size_t size)
{
	static uint8_t bytes[sizeof(struct fuse_out_header) + READ_BYTES];
	struct fuse_out_header header = { .len = (uint32_t)(sizeof(header) + (code ? 0 : size)),
					  .error = code,
					  .unique = unique };
	memcpy(bytes, &header, sizeof(header));
	if (!code && size)
		memcpy(bytes + sizeof(header), content, size);
	if (write(server->device, bytes, header.len) < 0 && errno != ENOENT)
		perror("answer");
}

static struct fuse_attr attributes(const struct server *server, uint64_t node)
{
	if (node == ROOT_NODE)
		return (struct fuse_attr){ .ino = node, .mode = S_IFDIR | 0755, .nlink = 2 };
	return (struct fuse_attr){ .ino = node,
				   .mode = S_IFREG | 0755,
				   .nlink = 1,
				   .size = server->size_bytes,
				   .blocks = (server->size_bytes + 511) / 512,
				   .blksize = 4096 };
}

static void answer_read(const struct server *server, uint64_t unique, const struct fuse_read_in *in)
{
	size_t at = in->offset < server->size_bytes ? in->offset : server->size_bytes;
	size_t size = server->size_bytes - at;
	answer(server, unique, 0, server->program + at, size < in->size ? size : in->size);
}

static void answer_one(const struct server *server, const struct fuse_in_header *header,
		       const void *in)
{
	const uint64_t unique = header->unique;
	switch (header->opcode) {
	case FUSE_INIT: {
		const struct fuse_init_in *init = in;
		struct fuse_init_out out = { .major = FUSE_KERNEL_VERSION,
					     .minor = OLDEST_FUSE,
					     .max_readahead = init->max_readahead,
					     .max_write = 131072,
					     .time_gran = 1 };
		answer(server, unique, 0, &out, sizeof(out));
		return;
	}
	case FUSE_LOOKUP: {
		struct fuse_entry_out out = { .nodeid = PROG_NODE,
					      .entry_valid = VALID_S,
					      .attr_valid = VALID_S,
					      .attr = attributes(server, PROG_NODE) };
		answer(server, unique, strcmp(in, "prog") ? -ENOENT : 0, &out, sizeof(out));
		return;
	}
	case FUSE_GETATTR: {
		struct fuse_attr_out out = { .attr_valid = VALID_S,
					     .attr = attributes(server, header->nodeid) };
		answer(server, unique, 0, &out, sizeof(out));
		return;
	}
	case FUSE_OPEN:
	case FUSE_OPENDIR: {
		struct fuse_open_out out = { .open_flags = FOPEN_KEEP_CACHE };
		answer(server, unique, 0, &out, sizeof(out));
		return;
	}
	case FUSE_STATFS: {
		struct fuse_statfs_out out = { .st = { .bsize = 4096, .namelen = 255 } };
		answer(server, unique, 0, &out, sizeof(out));
		return;
	}
	case FUSE_READ:
		answer_read(server, unique, in);
		return;
	case FUSE_READDIR:
	case FUSE_FLUSH:
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
	case FUSE_ACCESS:
		answer(server, unique, 0, NULL, 0);
		return;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		return; /* nobody waits for an answer */
	case FUSE_GETXATTR:
	case FUSE_LISTXATTR:
		answer(server, unique, -ENODATA, NULL, 0);
		return;
	default:
		answer(server, unique, -ENOSYS, NULL, 0);
	}
}

/* By /proc/PID/status; the parent, or 0. */
static uint32_t read_status(uint32_t pid, char name[64])
{
	char path[64], line[256];
	unsigned parent = 0;
	name[0] = 0;
	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	FILE *status = fopen(path, "re");
	while (status && fgets(line, sizeof(line), status))
		if (sscanf(line, "Name: %63[^\n]", name) != 1 &&
		    sscanf(line, "PPid: %u", &parent) == 1)
			break;
	if (status)
		fclose(status);
	return parent;
}

static bool is_caller(const struct server *server, uint32_t pid)
{
	char name[64], parents[64];
	uint32_t parent = read_status(pid, name);
	if (*server->caller && strcmp(name, server->caller) != 0)
		return false;
	read_status(parent, parents);
	return !*server->parent || strcmp(parents, server->parent) == 0;
}

static void serve(const struct server *server)
{
	static uint8_t bytes[READ_BYTES + 4096] __attribute__((aligned(8)));
	for (;;) {
		ssize_t size = read(server->device, bytes, sizeof(bytes));
		if (size < 0 && (errno == EINTR || errno == ENOENT || errno == EAGAIN))
			continue;
		if (size < (ssize_t)sizeof(struct fuse_in_header))
			_exit(0); /* unmounted */
		const struct fuse_in_header *header = (const void *)bytes;
		if (header->opcode == server->operation && is_caller(server, header->pid)) {
			(void)!write(STDOUT_FILENO, "stalled\n", 8);
			continue;
		}
		answer_one(server, header, bytes + sizeof(*header));
	}
}

static void write_to(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		cannot(path);
	close(fd);
}

/* Where this user is root, with mounts of its own. */
static void enter_namespaces(void)
{
	char text[64];
	uid_t user = getuid();
	gid_t group = getgid();
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
		cannot("user namespaces");
	write_to("/proc/self/setgroups", "deny");
	snprintf(text, sizeof(text), "0 %u 1", user);
	write_to("/proc/self/uid_map", text);
	snprintf(text, sizeof(text), "0 %u 1", group);
	write_to("/proc/self/gid_map", text);
}

static uint8_t *read_program(const char *path, size_t *size_bytes)
{
	struct stat info;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint8_t *bytes = fd >= 0 && fstat(fd, &info) == 0 ? malloc((size_t)info.st_size) : NULL;
	if (!bytes || read(fd, bytes, (size_t)info.st_size) != info.st_size)
		cannot(path);
	close(fd);
	*size_bytes = (size_t)info.st_size;
	return bytes;
}

static pid_t fork_child(void)
{
	pid_t pid = fork();
	if (pid < 0)
		cannot("process");
	if (pid == 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

int main(int argc, char **argv)
{
	static const char *const folders[] = { "fuse", "empty", "merged" };
	char options[8300], path[4200];
	if (argc != 7)
		return 2;
	struct server server = { .caller = argv[4],
				 .parent = argv[5],
				 .operation = (uint32_t)atoi(argv[6]) };
	server.program = read_program(argv[3], &server.size_bytes);
	if (chdir(argv[2]) != 0)
		cannot(argv[2]);
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		mkdir(folders[i], 0755);
	enter_namespaces();
	server.device = open(argv[1], O_RDWR | O_CLOEXEC);
	if (server.device < 0)
		cannot(argv[1]);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40755,user_id=0,group_id=0,allow_other",
		 server.device);
	if (mount("fuse", "fuse", "fuse", MS_NOSUID | MS_NODEV, options) != 0)
		cannot("FUSE in a user namespace");
	if (fork_child() == 0)
		serve(&server);
	close(server.device);
	if (mount("overlay", "merged", "overlay", MS_NOSUID | MS_NODEV, "lowerdir=fuse:empty") != 0)
		cannot("overlay over FUSE in a user namespace");
	snprintf(path, sizeof(path), "%s/merged/prog", argv[2]);
	pid_t program = fork_child();
	if (program == 0) {
		execl(path, "prog", (char *)NULL);
		_exit(127);
	}
	int status;
	waitpid(program, &status, 0);
	return 1;
}
