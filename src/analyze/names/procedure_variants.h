/*
 * procedure_variants - what tells two procedures apart that have the same name
 * in images of the same name: a part of the image's build-id, its number, or the
 * procedure's start.
 */
#pragma once

#include <stddef.h>

#include "analyze/names/place_procedure.h"

struct arena;
struct profile;

/*
 * Sets `variant` of each procedure that another of the list looks like, which needs
 * name_number and image_number to be set; that of the others stays as it is. The texts
 * are kept in `texts`. Returns 0 or -ENOMEM.
 */
int procedure_variants_fill(const struct profile *profile, struct place_procedure *procedures,
			    size_t count, struct arena *texts);
