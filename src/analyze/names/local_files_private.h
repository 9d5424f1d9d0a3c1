/*
 * local_files_private - what the parts of local_files share; nobody else includes it.
 */
#pragma once

#include "analyze/names/local_files.h"
#include "analyze/names/resolver_options.h"
#include "base/buffer.h"
#include "profile/profile.h"
#include "symbol/binary_finder.h"
#include "symbol/reader.h"

#define SHOWN_MISSING 3 /* images that a note names, before it counts */

/* An image whose file is being read. */
struct waiting_image {
	uint32_t id;
	bool by_name; /* the file was found by its name alone */
};

struct search {
	const struct profile *profile;
	const struct resolver_options *options;
	struct local_files *files; /* what was found */
	struct reader *reader;
	struct binary_finder *finder;
	unsigned int what;			      /* is read of a file: enum gather_what */
	struct waiting_image waiting[READER_GATHERS]; /* oldest first */
	size_t waiting_count;
	struct debuginfod *debuginfod;
	local_files_note note;
	void *context;
	struct buffer missing, unsaid, by_name; /* names, for one note each */
	size_t missing_count, unsaid_count, by_name_count;
};

/* An image and the addresses that are asked for: rising, of the image's space. */
struct wanted_image {
	uint32_t id;
	struct profile_image image;
	uint64_t *vaddrs;
	size_t count;
};

__attribute__((format(printf, 2, 3))) void local_search_note(struct search *search,
							     const char *format, ...);
/* One more of a kind, for a note at the end. */
void local_search_count(struct buffer *names, size_t *count, const char *name);
/* The records are the image's. 0 or -ENOMEM. */
int local_search_keep(struct search *search, uint32_t id, const struct record_set *records);
/* From now on the image's addresses are translated so; those of `wanted` are at once. 0 or -ENOMEM.
 */
int local_search_translate(struct search *search, struct wanted_image *wanted,
			   const struct identity_segment *segments, size_t count);

/* The kernel's text, or a module's. 0 or -ENOMEM. */
int local_kernel_gather(struct search *search, struct wanted_image *wanted);
