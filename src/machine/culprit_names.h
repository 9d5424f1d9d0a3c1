/*
 * culprit_names - what the struct culprit_names of culprit/pfm.h is inside: names of events that a
 * library beside libculprit brings and libculprit asks for.
 *
 * A program may load two libraries of different versions, so who asks goes through
 * culprit_names_namer(), which compares what they have in common first.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "machine/event_namer.h"

/* Another number whenever one of the structures below changes. */
#define CULPRIT_NAMES_SHAPE 1U
_Static_assert(sizeof(struct event_encoding) == 40, "a new CULPRIT_NAMES_SHAPE is due");
_Static_assert(sizeof(struct event_namer) == 24, "a new CULPRIT_NAMES_SHAPE is due");
_Static_assert(sizeof(struct error) == 1028, "a new CULPRIT_NAMES_SHAPE is due");

struct culprit_names {
	uint32_t shape; /* CULPRIT_NAMES_SHAPE of the library that brings the names */
	const struct event_namer *namer;
};

/* NULL when the names come from a library that does not fit this one. */
static inline const struct event_namer *culprit_names_namer(const struct culprit_names *names)
{
	return names->shape == CULPRIT_NAMES_SHAPE ? names->namer : NULL;
}
