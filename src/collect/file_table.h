/*
 * file_table - the files that processes execute from, each opened and named
 * once, when it is first seen: before it is deleted, replaced, or gone with
 * its container. A file is known by (device, inode, generation): inode numbers
 * alone are given away again at once, and so are numbers of devices. Where a
 * generation is not known, file_same.h says what else must hold.
 *
 * The table finds a file by its mappings, and tells its image and the place of
 * an address there. How a file is opened is file_ways.h's business; what is
 * asked of it, when, and who pays is file_learn.h's. It is closed again before
 * anybody waits for that: an open file keeps its file system from being
 * unmounted. file_keep.h says what is kept of it until names and code are read.
 *
 * A file's image is named by its build-id, which is a claim, and by its content
 * and who can write it, which are looked at when it is sampled first.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/number_map.h"
#include "base/span.h"
#include "collect/held_files.h"
#include "collect/left_out.h"
#include "image/unknown.h"
#include "image/identity.h"
#include "symbol/reader.h"

struct profile;
struct profile_frame;
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
	uint32_t next; /* private: the number of another of the same inode */

	/* What the mapping told of it, and the kernel. */
	uint32_t major, minor;
	uint64_t inode, generation;
	/* By the file system, or by a record with another one than 0: /proc/PID/maps does not tell
	   it, and 0 stands for none. */
	bool generation_known;
	char *path; /* as the process that we met it in names it, without " (deleted)"; once we saw
		       the file there ourselves (by_path), that one */

	/* Who maps it. */
	struct share *met_by;	    /* whose process mapped it when we met it */
	uint32_t pid;		    /* whom we met it in, or opened it through */
	uint32_t latest_pid;	    /* who mapped it last by the same path */
	uint64_t start, end;	    /* where that one did */
	struct share *latest_payer; /* for what is read through that one */
	struct share *through; /* of who mapped it first, or last of strangers: his are the mounts
				  and paths that are looked through */

	/* What became known of it. */
	struct identity *identity; /* its hash once it was sampled, where it could still be read */
	uint64_t device, size_bytes; /* as fstat() told when it was identified */
	int64_t changed_ns;
	uint32_t owner;			     /* likewise; SAFE_NO_USER before */
	uint64_t writer;		     /* who else can write it (image/writer.h) */
	uint64_t writer_as_met;		     /* by the mounts of the process that we met it in */
	uint64_t mount;			     /* that it was reached by; 0: not known */
	uint8_t unique[READER_UNIQUE_BYTES]; /* for its hash */
	struct share *share; /* who pays for reading it (shares.h); NULL: it was never opened */
	bool looked_into;    /* for its content, with or without success */

	/* Where it lies. */
	bool elsewhere; /* not on the mount of our own root: an open descriptor would pin it */
	bool by_path;	/* we see it by its path, as always when it is not elsewhere */
	bool there; /* it was still there when we looked last, which holds until there_until_ns */
	uint64_t there_until_ns;
	bool path_trusted; /* a stranger did not choose it, or it led us to the file: then looking
			      there costs nothing that he could raise */
	uint64_t paths_refused[FILE_PATHS_REFUSED]; /* hashes of the last that are not this file */
	unsigned paths_refused_count;		    /* so far: says which is replaced next */

	/* What could not be learned. */
	bool unread; /* a share that was used up, or a limit, kept it from being read: reports say
			so */
	enum left_out_why unread_why; /* then */
	bool refused; /* it was not opened, and nothing but time was wanting: tried again when who
			 pays has some, where `unread` may stand for good */
	struct share *tried_by; /* the payer for whom opening it failed last */
	unsigned attempts;	/* of that one's, one after the other */

	/* What is kept of it. */
	int fd;	     /* held, or a copy in memory; -1: neither */
	bool copied; /* `fd` is a copy, of copy_bytes */
	uint64_t copy_bytes;

	/* What it is to the samples. */
	uint32_t image; /* in the session's profile; 0: not sampled yet */
	bool sampled;	/* since names were read last */
};

struct file_table {
	struct file **files; /* files[number - 1] */
	size_t count, capacity;
	struct number_map by_inode; /* the newest of an inode */
	struct file_looks *looks;   /* file_same.h */
	struct profile *session;
	struct reader *reader; /* NULL: files are known by their records alone */
	struct shares *shares;
	struct held_files keeping;
	uint32_t held[HELD_MOST]; /* numbers of files with a held descriptor, oldest first */
	size_t held_count;
	struct number_map hashed_bytes; /* by writer: of whole files, up to HASHED_MOST_BYTES */
	uint32_t anonymous, vdso, vdso_narrow, vsyscall;
	uint32_t beyond; /* all files for which a user has no room any more */
};

/* What a mapping says about its file. */
struct file_hint {
	uint32_t pid;
	uint64_t start, end; /* of the mapping */
	bool has_inode;
	uint32_t major, minor;
	uint64_t inode, generation;
	bool generation_known; /* records tell it, though 0 where there is none */
	bool narrow;	       /* of a 32-bit process */
	struct share *share;   /* of the process; NULL: not known */
	struct share *payer;   /* for what is read through it; likewise */
	struct span path;
};

/* All are borrowed; `shares` may be NULL: nobody pays. */
int file_table_init(struct file_table *table, struct profile *session, struct reader *reader,
		    struct shares *shares);
void file_table_release(struct file_table *table);

/* Stores the number of the file, which is opened and identified when it is new, and opened where
 * nothing else tells whether it is. 0 or -ENOMEM. */
int file_table_find(struct file_table *table, const struct file_hint *hint, uint32_t *number);

static inline struct file *file_table_get(const struct file_table *table, uint32_t number)
{
	return number ? table->files[number - 1] : NULL;
}

static inline struct span file_unique(const struct file *file)
{
	return (struct span){ file->unique, sizeof(file->unique) };
}

/*
 * From an offset in the file to a place in its image. Fills *frame, or *cause.
 * Run-time code needs the process: file_is_runtime_code() says so beforehand.
 * 0 or -ENOMEM.
 */
int file_table_locate(struct file_table *table, uint32_t number, uint64_t offset,
		      struct profile_frame *frame, enum unknown_cause *cause);
/* The image of a file that was identified and is sampled now. 0 or -ENOMEM. */
int file_table_image(struct file_table *table, uint32_t number, uint32_t *image);
/* Names were read: what was kept for them may give way to what is sampled from now on. */
void file_table_names_read(struct file_table *table);
bool file_is_runtime_code(const struct file *file);
/* A file that a compiler of code writes and maps, by its name and content: it grows. */
bool file_may_be_jitdump(const struct file *file);
/*
 * A descriptor of the file, which the caller closes soon: what was kept of it, or the file itself
 * when it is still there by one of the ways to it, unchanged. Or -EDQUOT, -ETIMEDOUT or -ECANCELED
 * when a way was refused for want of time, else -ENOENT.
 */
int file_table_open(struct file_table *table, uint32_t number);
/* As file_table_open(), for long: -1 where that would keep a file system from being unmounted. */
int file_table_open_for_long(struct file_table *table, uint32_t number);
/* Whether the second one may succeed. */
bool file_may_stay_open(const struct file *file);
