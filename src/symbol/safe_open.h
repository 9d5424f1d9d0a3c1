/*
 * safe_open - opens files that belong to strangers: below the root folder of
 * another process, its executable, its mappings. Never follows a link out of
 * that root, never opens a FIFO or a device, never waits for one.
 *
 * These calls may still block where a FUSE server answers: the reader
 * (symbol/reader.h) makes them in a process that may be killed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct error;

enum safe_owner {
	OWNER_ANY,
	OWNER_PROCESS, /* of the process's effective user or root, not writable by others */
};

struct safe_file {
	int fd; /* read-only, close-on-exec */
	uint64_t size_bytes;
	uint64_t device, inode;
	int64_t modified_ns;
	uint32_t owner;
	bool others_write; /* others than its owner, root and our own group may write it */
	bool copied; /* fd is a copy in memory (symbol/reader.h); inode and device are the file's */
};

enum safe_link {
	LINK_REFUSE, /* a symbolic link as the last part of the path: -ELOOP */
	LINK_FOLLOW, /* it is followed, within the process's root */
};

struct safe_limits {
	uint64_t size_bytes; /* larger files are refused with -EFBIG */
	enum safe_owner owner;
	enum safe_link link;
};

/*
 * Opens the absolute `path` as process `pid` sees it; pid 0: as we do. Returns 0
 * and a file whose fd the caller closes; -ENOENT, -EACCES, -ELOOP and the like;
 * -ENOTSUP for what is no regular file; -EFBIG; -EPERM for a wrong owner;
 * -ENOSYS where the kernel has no openat2 (before 5.6) or forbids it and the
 * process has a root or mounts of its own: there is then no safe way.
 */
int safe_open_path(pid_t pid, const char *path, const struct safe_limits *limits,
		   struct safe_file *file, struct error *err);
/* /proc/PID/exe. */
int safe_open_executable(pid_t pid, const struct safe_limits *limits, struct safe_file *file,
			 struct error *err);
/* /proc/PID/map_files/START-END: also of deleted files and memfds. Needs CAP_CHECKPOINT_RESTORE or
 * CAP_SYS_ADMIN. */
int safe_open_mapping(pid_t pid, uint64_t start, uint64_t end, const struct safe_limits *limits,
		      struct safe_file *file, struct error *err);
