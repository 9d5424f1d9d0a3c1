/*
 * callgrind_places - where the costs of a callgrind file belong: names, given in full
 * once and by number afterwards, objects as images, and the source lines of addresses.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/number_map.h"
#include "base/span.h"
#include "import/code/code_lines.h"

struct error;
struct profile;
struct profile_frame;

struct callgrind_place {
	uint32_t object, file, function; /* names in the byte pool; 0: not known */
	uint64_t address, line;
};

/* What a place is the place of: a cost, or the target of a call or a jump. The source file of a
 * target may be a guess, so what costs say of the same address wins. */
enum callgrind_use { CALLGRIND_COST, CALLGRIND_TARGET };

struct callgrind_places {
	struct profile *profile;		     /* borrowed; the rest begins as zero */
	bool by_instruction;			     /* places have an address */
	struct number_map objects, files, functions; /* names by their numbers in the file */
	/* private */
	struct number_map images;	  /* by the object's name: their ids */
	struct code_lines costs, targets; /* lines of addresses */
};

void callgrind_places_release(struct callgrind_places *places);
/* The name that a text stands for, by number in one of the maps; 0 for an empty text, as some
 * writers have it. Returns 0, -EBADMSG (a number that nothing had before) or -ENOMEM. */
int callgrind_places_name(struct callgrind_places *places, struct number_map *map, struct span text,
			  uint32_t *name);
/* 0 or -ENOMEM. */
int callgrind_places_frame(struct callgrind_places *places, enum callgrind_use use,
			   const struct callgrind_place *place, struct profile_frame *frame);
/* Adds the lines of all addresses to the profile. Returns 0 or -ENOMEM. */
int callgrind_places_finish(struct callgrind_places *places, struct error *err);
