/*
 * perf_data_images - the images of a perf.data file: numbered while it is read, told
 * apart by kind, name and the build-id of their mapping, and rows of the profile at the
 * end, when the table of build-ids is known. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/hash_index.h"
#include "base/span.h"
#include "image/unknown.h"
#include "intake/world.h"
#include "profile/profile.h"

#define PERF_BUILD_ID_ROOM 20

struct perf_image {
	enum image_kind kind;
	enum vaddr_space space;
	enum unknown_cause cause; /* of kind IMAGE_UNKNOWN: why code is not known */
	char *name; /* path, module, BPF program, text of the cause, or whose run-time code */
	uint8_t build_id[PERF_BUILD_ID_ROOM];
	uint8_t build_id_bytes;	    /* 0: not known */
	bool calls_exact;	    /* callers' addresses are those of calls, not of returns */
	bool text_mapped;	    /* some of it is mapped executable, or with unknown rights */
	uint64_t text_offset;	    /* then: the lowest such offset in the file */
	bool runtime;		    /* memory without a file: each process has its own code there */
	bool process;		    /* the run-time code of one process, named after it */
	bool data;		    /* runtime, and the memory could not be executed */
	char *path;		    /* another path of it; NULL: none but the name */
	uint32_t major, minor;	    /* of the device that a file lay on */
	uint64_t inode, generation; /* inode 0: not in the recording */
	bool several;		    /* different files were mapped under its path */
	uint64_t mapped_ns;	    /* time of its first mapping; 0: before the recording */
	uint64_t mapped_at;  /* address of its first mapping, of a module of the last; 0: none */
	struct hash128 hash; /* of its content, where it was found on this machine */
	bool has_hash;
	uint64_t writer; /* then: who else can write the file, as in struct profile_image */
	uint32_t row;	 /* in the profile; 0: not made */
};

struct perf_build { /* a row of the table of build-ids */
	enum code_mode mode;
	char *path;
	uint8_t build_id[PERF_BUILD_ID_ROOM];
	uint8_t build_id_bytes;
};

struct perf_images {		 /* begins as zero */
	struct perf_image *list; /* number - 1 */
	size_t count, capacity;
	struct hash_index index;
	struct perf_build *builds; /* the table of build-ids */
	size_t build_count, build_capacity;
	char boot[9]; /* what tells its processes from those of other hosts and boots */
};

void perf_images_release(struct perf_images *images);

/* What an image is looked up by; the build-id is that of its mapping, empty where that has none. */
struct perf_wanted_image {
	enum image_kind kind;
	struct span name, build_id;
};

/* Stores the number of an image, which is made, in that space, when it is new. 0 or -ENOMEM. */
int perf_images_need(struct perf_images *images, const struct perf_wanted_image *wanted,
		     enum vaddr_space space, uint32_t *number);

/* Whether a path of kernel code is that of the kernel itself, not of a module. */
bool perf_image_is_kernel(struct span name);
/* "[nf_tables]" or ".../nf-tables.ko.xz" as the kernel spells it: "nf_tables", written to `room`.
 */
struct span perf_image_module_name(struct span path, char *room, size_t size);

/* Notes what the table of build-ids has for a path, for perf_images_name_builds(). 0 or -ENOMEM. */
int perf_images_remember_build(struct perf_images *images, enum code_mode mode, struct span path,
			       struct span build_id);
/* To be called before perf_images_name_builds(): the file of that path, whose mapping had no
 * build-id, has code whose callers' addresses are those of calls. */
void perf_images_mark_calls_exact(struct perf_images *images, struct span path);
/*
 * To be called once, after all mappings: images that the table knows get their build-ids.
 * `kernel` is the number of the kernel itself, or 0. No image is found by its name any
 * more. 0 or -ENOMEM.
 */
int perf_images_name_builds(struct perf_images *images, uint32_t kernel);

/* The row of an image in the profile, made when it is the first time. 0 or -ENOMEM. */
int perf_images_write(struct perf_images *images, struct profile *profile, uint32_t number,
		      uint32_t *row);
