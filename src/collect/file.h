/*
 * file - what is known of a file that processes execute from, and in what the table holds all of
 * them: the data that file_table.h and its parts work on. Which file a mapping names is
 * file_same.h's question, how it is opened file_ways.h's, what is read of it, when and at whose
 * expense file_learn.h's, and what of it is kept file_keep.h's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/number_map.h"
#include "base/span.h"
#include "collect/held_files.h"
#include "collect/left_out.h"
#include "image/identity.h"
#include "symbol/reader.h"

struct frame_store;
struct profile;
struct share;
struct shares;

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

#define FILE_PATHS_REFUSED   4u
#define FILE_PATH_UNIT_BYTES 256u /* of a path count as another file */

struct file {
	enum file_kind kind;
	enum file_state state;
	uint32_t next; /* of file_same.c: the number of an older file with that device and inode */

	/* As mappings name it. */
	uint32_t major, minor;
	uint64_t inode, generation;
	/* The file system or a record gave it. /proc/PID/maps has none, and a record's 0 stands for
	   none. */
	bool generation_known;
	char *path; /* as the process that mapped it first names it, without " (deleted)"; with
		       `by_path`, one that leads us to it, too */

	/* Who maps it. */
	struct share *first_share; /* of the process that mapped it first: one of its SHARE_FILES */
	struct share *path_payer;  /* whose SHARE_FILES have so many for the length of the path */
	uint64_t path_units;
	uint32_t pid;	     /* of the process that mapped it first, or it was opened through */
	uint32_t latest_pid; /* of the last process that mapped it under `path` */
	uint64_t start, end; /* that mapping: addresses */
	struct share *latest_payer; /* pays for what is read through that process */
	struct share *through; /* whose mounts and paths are looked through for it: of the first
				  process that mapped it, or of the last one of a stranger */

	/* What became known of it. */
	struct identity *identity; /* its hash once it was sampled, where it could still be read */
	/* By fstat() when it was identified; changed_ns: time since 1970 of its last change. */
	uint64_t device, size_bytes;
	int64_t changed_ns;
	uint32_t owner;			     /* likewise; SAFE_NO_USER before */
	uint64_t writer;		     /* who else can write it (image/writer.h) */
	uint64_t first_writer;		     /* by the mounts of the process that mapped it first */
	uint64_t mount;			     /* that it was reached by; 0: not known */
	uint8_t unique[READER_UNIQUE_BYTES]; /* for its hash */
	struct share *share; /* who pays for reading it (shares.h); NULL: it was never opened */
	bool looked_into;    /* its content was read, or cannot be */

	/* Where it lies. */
	bool elsewhere; /* not on the mount of our own root: an open descriptor would pin it */
	bool by_path;	/* `path` leads us to it, as always when it is not elsewhere */
	bool there;	/* so it was when we looked last, which holds until there_until_ns */
	uint64_t there_until_ns;
	bool path_trusted; /* a stranger did not choose it, or it led us to the file: then looking
			      there costs nothing that he could raise */
	uint64_t paths_refused[FILE_PATHS_REFUSED]; /* hashes of the last that led elsewhere */
	unsigned paths_refused_count;		    /* so far: says which is replaced next */

	/* What could not be learned. */
	bool unread; /* a share that was used up, or a limit, kept it from being read: reports say
			so */
	enum left_out_why unread_why; /* then */
	bool refused; /* opening it failed for want of time alone, and is tried again when who pays
			 has some; `unread` may stand for good */
	struct share *tried_by; /* the payer for whom opening it failed last */
	unsigned attempts;	/* that failed for that payer, in a row */

	/* What is kept of it. */
	int fd;	     /* held, or a copy in memory; -1: neither */
	bool copied; /* `fd` is a copy, of copy_bytes */
	uint64_t copy_bytes;

	/* What it is to the samples. */
	uint32_t image; /* in the session's profile; 0: not sampled yet */
	bool sampled;	/* since names were read last */
	bool recent;	/* in the epoch that ended then */
};

/* A file that may be a jitdump. */
struct file_jitdump {
	uint64_t order; /* in which they became known */
	uint32_t number;
};

struct file_table {
	/* files[number - 1]; NULL: forgotten, and the number is free for another one */
	struct file **files;
	size_t count, capacity;
	size_t first_free;	    /* no number up to this one is free */
	struct number_map by_inode; /* the newest file's number, by device and inode */
	struct file_looks *looks;   /* file_same.h */
	struct profile *session;
	struct reader *reader; /* NULL: files are known by their records alone */
	struct frame_store *frame_store; /* NULL: rules are always made anew */
	struct shares *shares;
	struct held_files keeping;
	uint32_t held[HELD_MOST]; /* numbers of files with a held descriptor, oldest first */
	size_t held_count;
	struct file_jitdump *jitdumps; /* by their order */
	size_t jitdump_count, jitdump_capacity;
	uint64_t jitdumps_so_far;
	struct number_map hashed_bytes; /* by writer: of whole files, up to HASHED_MOST_BYTES */
	uint32_t anonymous, vdso, vdso_narrow, vsyscall;
	uint32_t beyond; /* stands for all files for which a user has no room any more */
};

/* What a mapping says about its file. */
struct file_hint {
	uint32_t pid;
	uint64_t start, end; /* of the mapping */
	uint32_t major, minor;
	uint64_t inode, generation;
	bool generation_known; /* records tell it, though 0 where there is none */
	bool narrow;	       /* of a 32-bit process */
	struct share *share;   /* of the process; NULL: not known */
	struct share *payer;   /* for what is read through it; likewise */
	struct span path;
};

static inline struct file *file_table_get(const struct file_table *table, uint32_t number)
{
	return number ? table->files[number - 1] : NULL;
}

static inline struct span file_unique(const struct file *file)
{
	return (struct span){ file->unique, sizeof(file->unique) };
}

/* Code that was made at run time: no file, or one that holds no program. */
bool file_is_runtime_code(const struct file *file);
/* A file that a compiler of code writes and maps, by its name and content: it grows. */
bool file_may_be_jitdump(const struct file *file);
/* Whether file_table_open_for_long() may succeed: the file is on the mount of our own root, or a
 * copy of it is kept. */
bool file_may_stay_open(const struct file *file);
/* Closes and frees it; NULL does nothing. */
void file_free(struct file *file);
