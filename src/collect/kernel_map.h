/*
 * kernel_map - whose text an address of the running kernel is: the kernel's
 * own, a module's, a BPF program's. Each is an image with addresses relative to
 * its own start, so that the same build gives the same rows after every boot.
 *
 * Addresses are given away again. BPF programs tell when they come and go (KSYMBOL
 * records); modules do not, so their list is read again when an address belongs to
 * a module, to something that has gone or to nothing, at most once a second.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"
#include "image/unknown.h"

struct error;
struct kallsyms;
struct profile;
struct profile_frame;
struct record_set;

enum kernel_text { KERNEL_CORE, KERNEL_MODULE, KERNEL_BPF };

struct kernel_range {
	uint64_t start, end;
	enum kernel_text what;
	bool gone;	/* unloaded: its addresses may be another's by now */
	char name[128]; /* of the module or the BPF program's symbol */
	uint32_t image; /* in the session's profile; 0: not sampled yet */
};

struct kernel_map {
	struct kernel_range *ranges; /* by start, without overlap */
	size_t count, capacity;
	struct kernel_range *former; /* those with an image whose addresses others have now */
	size_t former_count, former_capacity;
	uint32_t changes;	  /* of what lies where */
	size_t last;		  /* where the last address was found */
	bool hidden;		  /* the kernel shows no addresses (kptr_restrict) */
	bool modules_hidden;	  /* it shows none of modules */
	uint64_t modules_read_ns; /* CLOCK_MONOTONIC */
	uint8_t build_id[64];
	size_t build_id_bytes;
	struct profile *session;
};

/* What /proc and /sys say. Not being told is no failure: the map is then `hidden`. 0 or -ENOMEM. */
int kernel_map_init(struct kernel_map *map, struct profile *session);
void kernel_map_release(struct kernel_map *map);

/* The text of a BPF program or trampoline came or went (KSYMBOL records). 0 or -ENOMEM. */
int kernel_map_symbol(struct kernel_map *map, uint64_t address, uint32_t size_bytes,
		      struct span name, bool unregistered);

/* Fills in image and vaddr of *frame, or *cause. 0 or -ENOMEM. */
int kernel_map_locate(struct kernel_map *map, uint64_t address, struct profile_frame *frame,
		      enum unknown_cause *cause);

/* Images are called by other numbers: images[old], 0 for one that is no more. Text that has gone is
 * forgotten then, but for what kernel_map_of_image() finds of the images that stay. */
void kernel_map_renumber_images(struct kernel_map *map, const uint32_t *images);

/* The range of an image of ours, one that is still there before others, or NULL. Borrowed until the
 * next change. */
const struct kernel_range *kernel_map_of_image(const struct kernel_map *map, uint32_t image);

/*
 * Appends the functions of a range that hold `vaddrs` (rising). A BPF program is one, whose name
 * is known when it has gone too; others are in `kallsyms`, read after the samples. Stores whether
 * the bytes at its addresses are still its own. 0 or -ENOMEM.
 */
int kernel_range_records(const struct kernel_range *range, const struct kallsyms *kallsyms,
			 const uint64_t *vaddrs, size_t count, struct record_set *out,
			 bool *is_there);

/* For tests: a range as if /proc had named it. 0 or -ENOMEM. */
int kernel_map_add(struct kernel_map *map, enum kernel_text what, uint64_t start, uint64_t end,
		   struct span name);
