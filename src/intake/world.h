/*
 * world - what addresses meant while a recording was made: whose code lies at an
 * address of a process, or of the kernel. Whoever takes samples in has one, of what
 * lives now (collect) or of what a file says (import).
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
	enum unknown_cause cause; /* UNKNOWN_NONE: it is known whose it is */
	bool fleeting;		  /* the same address may lie elsewhere by the next sample */
};

struct world {
	void *owner; /* borrowed */

	/* Where an address of `process` (NULL: not known) lies. Where none knows, the image stands
	 * for the cause; `*out` comes empty. 0 or -ENOMEM. */
	int (*locate)(void *owner, struct process *process, enum code_mode mode, uint64_t address,
		      enum frame_kind kind, struct located *out);
	/* The place of what nobody knows. 0 or -ENOMEM. */
	int (*unknown)(void *owner, enum unknown_cause cause, struct located *out);
	/* The cause that an image stands for; UNKNOWN_NONE for all others. */
	enum unknown_cause (*cause_of)(const void *owner, uint32_t image);
	/* What all addresses mean now to that process, as a hash: as long as it stays, locate()
	 * says the same of the same address, unless that was fleeting. */
	uint64_t (*meaning)(void *owner, struct process *process);
};
