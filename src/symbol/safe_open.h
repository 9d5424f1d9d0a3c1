/*
 * safe_open - the one way to files whose path or content a stranger chose: files
 * of another process, below its root folder, its executable and its mappings; files
 * that a program, a profile or a recording names; files below a folder that the
 * user named. What is opened is first found without being opened (O_PATH), then
 * judged, then opened: never a FIFO, a device or a file of the kernel's own
 * (/proc, /sys), never one of another user's private files by the rules below.
 * docs/foreign-files.md has who follows which rule.
 *
 * These calls may still block where a FUSE server answers: the reader
 * (symbol/reader.h) makes them in a process that may be killed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct error;

/* The rule by which files are opened: whose may be. */
enum safe_owner {
	/* Anybody's: the caller compares the file with what the kernel said was mapped, or with a
	   build-id. */
	OWNER_ANY,
	/*
	 * What everybody may read, by the file's own mode and that of every folder on the way to
	 * it; and what belongs to `user`, who chose the path, or to the caller. The caller's own do
	 * not count when it is root: the path is a stranger's.
	 */
	OWNER_PUBLIC,
	/* That of `user` alone: with one name (link count 1), not writable by others, and in the
	   folder itself, not behind a link or mount. For files of a known name in a folder that
	   everybody can write, such as /tmp. */
	OWNER_PROCESS,
};

#define SAFE_NO_USER UINT32_MAX /* nobody's files have this owner */

struct safe_file {
	int fd; /* read-only, close-on-exec */
	uint64_t size_bytes;
	uint64_t device, inode;
	int64_t modified_ns;
	int64_t changed_ns; /* st_ctim: unlike the former, its owner cannot set it back */
	uint32_t owner, mode, links;
	uint64_t writer; /* who else can alter it: symbol/file_writer.h */
	/* Of the inode, which tells a file from another that was given its number before or after;
	   0 may be one. Not known of most file systems without a disk, nor where its mounter could
	   make it up. */
	uint32_t generation;
	bool generation_known;
	uint64_t mount; /* unique ID of the mount that it was reached by (statx), never used again;
			   0: not known (before Linux 6.8) */
	bool copied;	/* fd is a copy in memory (symbol/reader.h); all else tells of the file */
	/* As /proc/PID/maps names a mapping of it, where that may differ from the device and inode
	 * above; inode 0: not found out. The reader fills it. */
	uint64_t mapped_device, mapped_inode;
};

enum safe_link {
	LINK_REFUSE, /* a symbolic link as the last part of the path: -ELOOP */
	LINK_FOLLOW, /* it is followed, within the process's root */
};

struct safe_limits {
	uint64_t size_bytes; /* larger files are refused with -EFBIG */
	enum safe_owner owner;
	uint32_t user; /* as `owner` says; SAFE_NO_USER: nobody */
	enum safe_link link;
};

/*
 * Opens the absolute `path` as process `pid` sees it; pid 0: as we do. Returns 0
 * and a file whose fd the caller closes; -ENOENT, -EACCES, -ELOOP and the like;
 * -ENOTSUP for what is no regular file, or is one of the kernel's own; -EFBIG; -EPERM for what the
 * rule of `owner` refuses; -ENOSYS where the kernel has no openat2 (before 5.6) or forbids it and
 * the process has a root or mounts of its own: there is then no safe way.
 */
int safe_open_path(pid_t pid, const char *path, const struct safe_limits *limits,
		   struct safe_file *file, struct error *err);
/*
 * Opens `path`, with or without leading slashes, below the folder `root`, which the user named. No
 * link leads out of it (-EXDEV), nor "..". limits->owner and ->user do not count: the rule is
 * OWNER_PUBLIC, and the user is the owner of the folder, unless everybody may write into it.
 */
int safe_open_below(const char *root, const char *path, const struct safe_limits *limits,
		    struct safe_file *file, struct error *err);
/* /proc/PID/exe. */
int safe_open_executable(pid_t pid, const struct safe_limits *limits, struct safe_file *file,
			 struct error *err);
/* /proc/PID/map_files/START-END: also of deleted files and memfds. Needs CAP_CHECKPOINT_RESTORE or
 * CAP_SYS_ADMIN. */
int safe_open_mapping(pid_t pid, uint64_t start, uint64_t end, const struct safe_limits *limits,
		      struct safe_file *file, struct error *err);

/* Whether a file that was opened by another rule satisfies OWNER_PROCESS as well: 0, or -EPERM with
 * the reason. Reads only owner, mode and links of *file. */
int safe_check_user(const struct safe_file *file, uint32_t user, const char *path,
		    struct error *err);
