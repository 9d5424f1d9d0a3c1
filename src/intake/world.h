/*
 * world - what addresses meant while a recording was made: whose code lies at an
 * address of a process, or of the kernel. Each reader of samples has one: of the
 * processes that run now (collect), or of those that a file describes (import).
 *
 * A world belongs to one thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "image/unknown.h"
#include "intake/code_mode.h"
#include "profile/profile.h"

struct process;

/* An address as (image, vaddr). Numbers of images are the world's own, from 1. */
struct located {
	uint64_t vaddr;
	uint32_t image;
	enum unknown_cause cause; /* why the place is unknown; UNKNOWN_NONE: it is known */
	bool fleeting;		  /* the same address may lie elsewhere by the next sample */
};

struct world {
	void *owner; /* borrowed */

	/* Stores in *out, which the caller has zeroed, where an address of `process` (NULL: not
	 * known) lies. Where that is unknown, the image stands for the cause. 0 or -ENOMEM. */
	int (*locate)(void *owner, struct process *process, enum code_mode mode, uint64_t address,
		      enum frame_kind kind, struct located *out);
	/* Stores in *out the place that stands for what is unknown for that cause. 0 or -ENOMEM. */
	int (*unknown)(void *owner, enum unknown_cause cause, struct located *out);
	/* The cause that an image stands for; UNKNOWN_NONE for all others. */
	enum unknown_cause (*cause_of)(const void *owner, uint32_t image);
	/* A hash of what all addresses of that process mean now: as long as it stays the same,
	 * locate() gives the same place for the same address, unless that was fleeting. */
	uint64_t (*meaning)(void *owner, struct process *process);
};
