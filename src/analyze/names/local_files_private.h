/*
 * local_files_private - what the parts of local_files share; nobody else includes it.
 */
#pragma once

#include "analyze/names/local_files.h"
#include "analyze/names/resolver_options.h"
#include "base/buffer.h"
#include "base/error.h"
#include "profile/image_paths.h"
#include "profile/profile.h"
#include "symbol/binary_finder.h"
#include "symbol/debuginfod.h"
#include "symbol/kallsyms.h"
#include "symbol/reader.h"

#define SHOWN_MISSING 3 /* images that a note names, before it counts */

#define READINGS_MAX 64 /* files that wait to be read, with two descriptors each */

/* What tells one file from another, and from what it was before a change. */
struct file_key {
	uint64_t device, inode, size_bytes;
	int64_t changed_ns;
};

/* One of the images that a file is read for. */
struct reading_image {
	uint32_t id;
	bool by_name; /* the file was found by its name alone */
	uint64_t *vaddrs;
	size_t count;
	struct reading_image *next;
};

/* A file that is to be read, once. */
struct reading {
	int fd, debug_fd; /* the latter may be -1 */
	struct file_key file, debug;
	unsigned int what; /* enum gather_what */
	char *title;	   /* for notes; NULL: the first image's name */
	struct reading_image *images, *last;
};

/* The symbols of a kernel, and where its modules lie. */
struct kernel_tables {
	bool read;
	struct buffer bytes, module_bytes; /* that the rest borrows from */
	struct kallsyms kallsyms;
	struct kernel_modules modules;
};

/* Images that servers sent nothing of, by why; those that no server has do not count. */
enum unfetched_why { UNFETCHED_TIME, UNFETCHED_SIZE, UNFETCHED_OTHER, UNFETCHED_WHYS };
struct unfetched {
	struct buffer names;
	size_t count;
	uint32_t last;	     /* image counted: both its files are asked for, it counts once */
	struct error reason; /* the first one's */
};

struct search {
	const struct profile *profile;
	const struct resolver_options *options;
	struct local_files *files; /* what was found */
	struct reader *reader;
	struct binary_finder *finder;
	unsigned int what; /* set of enum gather_what: what is read of a file */
	struct reading readings[READINGS_MAX];
	size_t reading_count;
	const struct reading *waiting[READER_GATHERS]; /* being read by helpers; oldest first */
	size_t waiting_count;
	struct reader_account time;
	struct kernel_tables running; /* of this machine's kernel, once they were needed */
	struct kernel_tables stored;  /* of one build, from a folder by build-id */
	struct buffer stored_build_id;
	struct kernel_tables usual; /* below symfs, by their usual names */
	struct buffer usual_path;
	struct image_paths paths; /* of the profile */
	struct debuginfod *debuginfod;
	struct unfetched unfetched[UNFETCHED_WHYS];
	local_files_note note;
	void *context;
	struct buffer missing, buildless, by_name, late; /* names, for one note each */
	size_t missing_count, buildless_count, by_name_count, late_count;
};

/* An image and the addresses whose names are wanted, rising; the image's own until
 * local_search_translate(). */
struct wanted_image {
	uint32_t id;
	struct profile_image image;
	uint64_t *vaddrs;
	size_t count;
	const char *title; /* what notes call its file; NULL: the image's name */
};

__attribute__((format(printf, 2, 3))) void local_search_note(struct search *search,
							     const char *format, ...);
/* Counts one more image for a note at the end, which names the first SHOWN_MISSING. */
void local_search_count(struct buffer *names, size_t *count, const char *name);
/* "'a', 'b', 'c' and 7 more"; to be called once, it appends to `names`. */
const char *local_search_counted(struct buffer *names, size_t count);
/* The image's path, or else its name, in `text`. */
const char *local_search_name(const struct search *search, uint32_t id, struct buffer *text);
/* Counts one more image that there was no time for. */
void local_search_late(struct search *search, uint32_t id);
/* Adds the records to the stash as the image's. 0 or -ENOMEM. */
int local_search_keep(struct search *search, uint32_t id, const struct record_set *records);
/* Sets the image's translation, and translates the addresses of `wanted`; those that no segment has
 * are dropped. 0 or -ENOMEM. */
int local_search_translate(struct search *search, struct wanted_image *wanted,
			   const struct identity_segment *segments, size_t count);

enum found_by { FOUND_BY_BUILD, FOUND_BY_NAME };

/*
 * Has the image's records read from that file, for the addresses of `wanted`, vaddrs of the file,
 * which it owns from then on. The descriptors it owns also when it fails; `debug_fd` may be -1.
 * Returns 0 or -ENOMEM; what cannot be read is noted.
 */
int local_readings_add(struct search *search, struct wanted_image *wanted, int fd, int debug_fd,
		       unsigned int what, enum found_by found_by);
/* Reads all that wait. 0 or -ENOMEM. */
int local_readings_end(struct search *search);
void local_readings_release(struct search *search);

/* Asks servers for the image's file or debug file. A descriptor, or a negative errno, which is
 * remembered for a note. */
int local_fetch(struct search *search, const struct wanted_image *wanted,
		enum debuginfod_what what);
void local_fetch_note(struct search *search);
void local_fetch_release(struct search *search);

/* Finds names for the kernel's text, or a module's. 0 or -ENOMEM. */
int local_kernel_gather(struct search *search, struct wanted_image *wanted);
/* Frees the tables that local_kernel_gather() read. */
void local_kernel_release(struct search *search);
