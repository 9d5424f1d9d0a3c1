/*
 * profile_reader - a profile from the tables of an open SQLite database
 * (docs/profile-format.md), which is a stranger's. The schema must be ours to
 * the byte before any table is looked at; then the seal over all rows must be
 * right; then every number is checked as it is decoded.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct guard;
struct profile;

/*
 * What a file may unpack to, so that a small one cannot use up the memory. The
 * writer stays below it, by storing without compression where it must.
 */
#define PROFILE_UNPACK_BASE_BYTES (UINT64_C(256) << 20)
#define PROFILE_UNPACK_RATIO	  1024 /* times the size of the file, on top of the base */
/* What one row or pool entry costs in memory beside its slots or bytes. */
#define PROFILE_UNPACK_ROW_BYTES 32

/* The bytes that the rows and entries of a profile count for, by the rule above. */
uint64_t profile_unpacked_bytes(const struct profile *profile);

#define PROFILE_MAX_RELATIONS 256 /* tables in one file */

struct profile_reader_options {
	const char *name;    /* in messages */
	uint64_t file_bytes; /* with its log, without holes: what limits grow with */
	/*
	 * NULL: the first fault is the end, and only a whole profile comes out.
	 * Else receives each fault; reading goes on with what can be read, and only
	 * a schema that is not ours or unreadable declarations are the end.
	 */
	void (*fault)(void *context, const char *sentence);
	void *fault_context;
	bool ignore_seal;  /* for fuzzing what lies behind it */
	bool without_code; /* as PROFILE_FILE_WITHOUT_CODE (profile_file.h) */
	bool with_images;  /* profile_reader_load_sources(): the table "image", too */
};

/* What reading found. */
struct profile_reader_counts {
	uint64_t chunks, chunks_damaged;
	uint64_t rows, rows_dropped;
	uint64_t rows_left_out; /* of the stash, when read without code */
	uint64_t stash_bytes;	/* of the file: the stash's chunks and their contents */
	unsigned unknown_tables;
};

/* As profile_reader_load(), but reads only the table "source", or "image", too, and does not check
 * the seal. */
int profile_reader_load_sources(struct guard *guard, const struct profile_reader_options *options,
				struct profile **out, struct error *err);

/* Returns 0 and stores a profile that the caller frees, or a negative errno value with *err as
 * profile_file_read(). `counts` may be NULL. */
int profile_reader_load(struct guard *guard, const struct profile_reader_options *options,
			struct profile **out, struct profile_reader_counts *counts,
			struct error *err);
