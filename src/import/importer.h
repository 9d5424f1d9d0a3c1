/*
 * importer - one foreign format, read into a profile. Each format has a row in
 * import/formats.c; nothing outside src/import knows them one by one.
 *
 * A reader takes the bytes of one file in order, in pieces of any size, and its
 * memory grows with what is distinct in them, never with their number. Nothing
 * in the bytes is trusted. Readers share nothing; each belongs to one thread.
 */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct profile;

/* Something that the user should know, as a sentence without full stop. */
enum import_remark { IMPORT_NOTE, IMPORT_WARNING };
typedef void (*import_say)(void *context, enum import_remark kind, const char *sentence);

/* Options of an import, for every format. A reader keeps the pointer: they must outlive it. */
struct import_options {
	const char *event,
		*unit;	 /* of counts that the file does not name; NULL: the format's own word */
	bool one_count;	 /* folded: the last number is the count even when all lines end in two */
	bool recognised; /* by its content, not named by the user: most lines of a text must fit */
	bool force; /* keep what comes before a fault, report the fault as a warning, and succeed */
	const char *folder; /* of the file: JIT dumps and maps may lie there too; NULL: unknown */
	const char *symfs;  /* look for binaries below this folder first; NULL: none */
	const char *perf_cache; /* perf's own binaries by build-id, "~/.debug"; NULL: none */
	uint64_t written_ns; /* when the file was last written, since 1970; 0: it comes from a pipe
			      */
	import_say say;	     /* where remarks go; NULL: nowhere */
	void *say_context;
};

struct importer {
	const char *name; /* "perf.data", for messages and --format */
	const char *what; /* "a recording of Linux perf" */
	/* Bytes of budget (base/budget.h) that each byte of a file brings beyond itself: 0, unless
	 * a frame of a stack may take as little as two bytes. */
	uint32_t density;
	/* Whether the first bytes of a file (1 to IMPORT_HEAD_BYTES) are of this format. */
	bool (*recognise)(const void *bytes, size_t size);
	/* Returns 0 or -ENOMEM. */
	int (*open)(const struct import_options *options, void **reader);
	/*
	 * The next bytes. Returns 0; -EBADMSG (malformed; *err says what and where: "at byte 123",
	 * "line 7"), never with options->force; -EPROTO (not this format after all, or a version
	 * or compression of it that cannot be read); with options->force, -ENODATA (malformed
	 * before anything counts); -EOVERFLOW (a count past 64 bits); -ENOMEM;
	 * or another negative errno. After an error a reader is only fit to be closed.
	 */
	int (*feed)(void *reader, const void *bytes, size_t size, struct error *err);
	/*
	 * The end of the file. Stores a profile that the caller frees. Errors as feed's; -ENODATA
	 * when the file holds nothing to count.
	 */
	int (*finish)(void *reader, struct profile **out, struct error *err);
	void (*close)(void *reader); /* frees it; NULL does nothing */
};

#define IMPORT_HEAD_BYTES 65536u

/* All formats, the surest marks first; ends with a NULL. */
extern const struct importer *const importers[];
/* The first that recognises the bytes (unpacked ones), or NULL. */
const struct importer *importer_find(const void *bytes, size_t size);
const struct importer *importer_named(const char *name); /* or NULL */

/* For readers: passes a remark to options->say. */
__attribute__((format(printf, 3, 4))) void import_report(const struct import_options *options,
							 enum import_remark kind,
							 const char *format, ...);
/* A note on a text whose last line no newline ends: tools write one, but the file may be whole. */
void import_report_unended(const struct import_options *options);

/* For readers: a fault. With options->force it is reported as a warning and 0 returned, else *err
 * is filled and `code` returned. */
__attribute__((format(printf, 4, 5))) int import_fault(const struct import_options *options,
						       int code, struct error *err,
						       const char *format, ...);

/* For readers: the code of a fault before which there is nothing to keep, also with force. */
static inline int import_code_at_start(const struct import_options *options)
{
	return options->force ? -ENODATA : -EBADMSG;
}
