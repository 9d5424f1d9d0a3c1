/*
 * protobuf_mutator - messages of protobuf changed by their fields: recombined,
 * nested ones changed in turn, numbers packed and unpacked, lengths that do not
 * fit. No schema is needed: what reads as a message is taken for one.
 */
#pragma once

#include "mutator.h"

/* A message that some of these fields are changed of. */
struct span protobuf_changed(struct span message, struct random_state *random);
/* Fields of `other` come into `message`. */
struct span protobuf_crossed(struct span message, struct span other, struct random_state *random);
