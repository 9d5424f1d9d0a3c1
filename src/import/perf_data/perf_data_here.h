/*
 * perf_data_here - the builds that a recording does not name, of files that this very
 * machine still has.
 *
 * perf names no builds with -z, --no-buildid and -o -, but its records have each
 * file's device, inode and the time of its mapping. On the machine of the recording
 * (by host and kernel release) the file that is still there, unchanged, is that file,
 * and its build is the image's. So is the running kernel, when it lies where the
 * recording's did: each boot chooses another place.
 *
 * Everywhere else an import stays what the recording says. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/span.h"
#include "symbol/file_inode.h"

struct import_options;
struct perf_image;
struct perf_places;
struct reader;

/* Where and when a recording was made, as far as its file says; the texts are borrowed. */
struct perf_recording {
	struct span host;			  /* name of the machine; empty: not in the file */
	struct span kernel;			  /* release of its kernel, likewise */
	uint64_t first_sample_ns, last_sample_ns; /* by the samples' clock; 0: no sample has one */
	uint64_t wall_ns;			  /* since 1970, at a moment; 0: not in the file */
	uint64_t wall_at_ns;			  /* that moment by the samples' clock */
	uint64_t written_ns; /* when the file was last written, since 1970; 0: now */
};

struct perf_here { /* begins as zero */
	/* private */
	struct reader *reader; /* NULL: not needed yet, or none can be made */
	bool reader_failed;
	bool looked_at_kernel, same_kernel;
	struct buffer modules; /* of /proc/modules; empty unless the kernel is the same */
	struct buffer changed; /* paths of the first files that have changed */
	size_t changed_count;
};

void perf_here_release(struct perf_here *here);

/* The inode by which this machine knows the image's file; inode 0: it does not. */
struct binary_inode perf_here_inode(const struct perf_recording *recording,
				    const struct perf_image *image);

/*
 * Gives an image of `places` without a build-id its build-id, or the hash of its content,
 * when it is of this machine. To be called once all records are read. 0 or -ENOMEM.
 */
int perf_here_identify(struct perf_here *here, const struct perf_recording *recording,
		       const struct perf_places *places, struct perf_image *image);
/* Reports which files of this machine are no longer those of the recording. */
void perf_here_report(const struct perf_here *here, const struct import_options *options);
