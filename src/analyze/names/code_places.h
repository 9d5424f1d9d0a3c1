/*
 * code_places - the code addresses of a profile as dense numbers: which procedure,
 * which image, which source line, and which inlined functions each stands in.
 * Every distinct address is resolved once, however many cells and stacks hold
 * it. Numbers count from 0 in the order of adding; PLACE_NONE is none.
 *
 * Borrows the profile and the resolver, which outlive it. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/names/place_procedure.h"
#include "analyze/names/resolve.h"
#include "profile/profile.h"

struct error;
struct event_column;
struct places;

#define PLACE_NONE UINT32_MAX

struct place_line {
	const char *file; /* NULL: unknown */
	uint32_t line;
	uint32_t procedure;   /* innermost, an inlined one too */
	uint32_t file_number; /* private: equal where the texts are */
};

int places_new(const struct profile *profile, struct resolver *resolver, struct places **out,
	       struct error *err);
void places_free(struct places *places);

/* Stores the number of a frame's place in *place. Returns 0 or -ENOMEM. */
int places_add(struct places *places, const struct profile_frame *frame, uint32_t *place);

struct profile_frame places_frame_of(const struct places *places, uint32_t place);
uint32_t places_procedure_of(const struct places *places, uint32_t place);
uint32_t places_image_of(const struct places *places, uint32_t place); /* id in the profile */
unsigned places_marks_of(const struct places *places, uint32_t place);

/* Whether samples of the event can be late; at which places, their marks say. */
bool places_can_be_late(const struct places *places, const struct event_column *column);
/* Sets PLACE_LATE of a procedure. */
void places_mark_late(struct places *places, uint32_t procedure);

/*
 * The functions at a place, outermost (the procedure itself) first, inlined
 * ones after it. Valid until the next call. Stores how many in *count; returns
 * NULL when out of memory.
 */
const uint32_t *places_chain(struct places *places, uint32_t place, size_t *count);
/* The procedure alone, as a chain of one. */
const uint32_t *places_outer(const struct places *places, uint32_t place);
/* Stores the number of the source line at a place in *line; a procedure's places of unknown line
 * share one. Returns 0 or -ENOMEM. */
int places_line_of(struct places *places, uint32_t place, uint32_t *line);

size_t places_procedure_count(const struct places *places);
const struct place_procedure *places_procedure(const struct places *places, uint32_t procedure);
const struct place_line *places_line(const struct places *places, uint32_t line);

/* Sets `variant` of procedures that look alike (procedure_variants.h). To be called once, after the
 * last places_add(). Returns 0 or -ENOMEM. */
int places_tell_apart(struct places *places);
