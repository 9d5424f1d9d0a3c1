/*
 * candidates - the procedures that the command line means: by a name, which several may have, or
 * without one the hottest. `title` is the name of the input in messages.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "analyze/code/annotate_index.h"

/*
 * Stores the positions in the index of the procedures that a name fits, of `image` when that is not
 * NULL, in a list that the caller frees. Returns 0, or the exit status after a message: 1 when
 * there is none.
 */
int candidates_find(const struct annotate_index *index, const char *name, const char *image,
		    const char *title, uint32_t **positions, size_t *count);

/*
 * The one procedure of that name, of `image` when that is not NULL. Returns 0, or the exit
 * status after a message: 2 when there are several, which are listed, 1 when there is none.
 */
int candidates_find_one(const struct annotate_index *index, const char *name, const char *image,
			const char *title, uint32_t *position);

/*
 * Stores the positions of the `most` hottest procedures, of `image` when that is not NULL, in a
 * list that the caller frees. Returns 0, or the exit status after a message: 1 when there is none.
 */
int candidates_hottest(const struct annotate_index *index, const char *image, const char *title,
		       size_t most, uint32_t **positions, size_t *count);
