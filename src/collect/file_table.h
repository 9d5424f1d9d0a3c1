/*
 * file_table - the files that processes execute from, each opened and named
 * once, when it is first seen: before it is deleted, replaced, or gone with
 * its container. A file is known by (device, inode, generation): inode numbers
 * alone are given away again at once.
 *
 * Descriptors are kept, up to a limit, so that names and code can be read at
 * the end; the files of one process open through its own root.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/number_map.h"
#include "base/span.h"
#include "image/unknown.h"
#include "image/identity.h"

struct profile;
struct profile_frame;
struct reader;

enum file_kind {
	FILE_PLAIN,
	FILE_ANONYMOUS, /* no file: code that was made at run time */
	FILE_VDSO,
	FILE_VSYSCALL,
	FILE_SPECIAL, /* a device and the like: no code of a file, yet named */
};

enum file_state {
	FILE_NEW,
	FILE_IDENTIFIED, /* `identity` holds */
	FILE_NOT_ELF,	 /* it was read, and holds no program: run-time code */
	FILE_GONE,	 /* it could not be opened, or was another file by then */
};

struct file {
	enum file_kind kind;
	enum file_state state;
	uint32_t major, minor;
	uint64_t inode, generation;
	bool generation_known; /* /proc/PID/maps does not tell it */
	char *path;	       /* as the process that we met it in names it, without " (deleted)" */
	struct identity *identity;
	int fd;		   /* -1: not kept */
	uint32_t pid;	   /* whom we met it in */
	uint32_t image;	   /* in the session's profile; 0: not sampled yet */
	unsigned attempts; /* to open it */
	uint32_t next;	   /* private: of the same inode */
};

struct file_table {
	struct file **files; /* files[number - 1] */
	size_t count, capacity;
	struct number_map by_inode; /* the newest of an inode */
	struct profile *session;
	struct reader *reader; /* NULL: files are known by their records alone */
	size_t kept_fds, fd_limit;
	uint32_t anonymous, vdso, vdso_narrow, vsyscall;
};

/* What a mapping says about its file. */
struct file_hint {
	uint32_t pid;
	uint64_t start, end; /* of the mapping */
	bool has_inode;
	uint32_t major, minor;
	uint64_t inode, generation;
	bool generation_known;
	bool narrow; /* of a 32-bit process */
	struct span path;
};

int file_table_init(struct file_table *table, struct profile *session, struct reader *reader);
void file_table_release(struct file_table *table);

/* Stores the number of the file, which is opened and identified when it is new. 0 or -ENOMEM. */
int file_table_find(struct file_table *table, const struct file_hint *hint, uint32_t *number);

static inline struct file *file_table_get(const struct file_table *table, uint32_t number)
{
	return number ? table->files[number - 1] : NULL;
}

/*
 * From an offset in the file to a place in its image. Fills *frame, or *cause.
 * Run-time code needs the process: file_is_runtime_code() says so beforehand.
 * 0 or -ENOMEM.
 */
int file_table_locate(struct file_table *table, uint32_t number, uint64_t offset,
		      struct profile_frame *frame, enum unknown_cause *cause);
/* The image of a file that was identified. 0 or -ENOMEM. */
int file_table_image(struct file_table *table, uint32_t number, uint32_t *image);
bool file_is_runtime_code(const struct file *file);
