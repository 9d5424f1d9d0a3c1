#include "cli/candidates.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/names/resolve.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "cli/message.h"
#include "render/quantity.h"
#include "symbol/record.h"

#define SHOWN_CANDIDATES 20

/* Prints on stderr that there are several, and how to name one. */
static void list_all(const struct annotate_index *index, const char *name,
		     const uint32_t *positions, size_t count)
{
	message_error("'%s' may be any of %zu procedures; name one of them, or add --image:", name,
		      count);
	for (size_t i = 0; i < count && i < SHOWN_CANDIDATES; i++) {
		const struct annotate_procedure *candidate = &index->procedures[positions[i]];
		const struct procedure *procedure = candidate->procedure;
		CLEANUP(buffer_release) struct buffer line = { 0 };
		char amount[QUANTITY_SIZE] = "-";
		uint64_t samples = 0; /* of all events */
		bool sampled = false;
		for (size_t c = 0; c < index->columns->count; c++) {
			sampled |= index->columns->list[c].sampled;
			samples += candidate->cells[c].samples;
		}
		if (sampled)
			quantity_count(samples, amount);
		buffer_append_text(&line, procedure->name);
		if (candidate->image_name[0])
			buffer_printf(&line, " in %s", candidate->image_name);
		bool has_first = procedure->extent_known || procedure->flags & FUNCTION_WINDOW;
		if (has_first && candidate->image_name[0])
			buffer_printf(&line, ", as %s+0x%" PRIx64, candidate->image_name,
				      procedure->first);
		message_detail("%10s samples  %s", amount, buffer_text(&line));
	}
	if (count > SHOWN_CANDIDATES)
		message_detail("and %zu more", count - SHOWN_CANDIDATES);
}

/* What to do when no procedure has that name. */
static const char *advice_for(const char *name)
{
	if (access(name, R_OK) == 0)
		return "the file of that name is no profile";
	if (strncmp(name, "0x", 2) == 0)
		return "an address is written IMAGE+0xVADDR";
	return "'culprit report' lists those that have";
}

int candidates_find(const struct annotate_index *index, const char *name, const char *image,
		    const char *title, uint32_t **positions, size_t *count)
{
	if (annotate_index_search(index, name, image, positions, count) < 0) {
		message_error("out of memory searching '%s'", name);
		return 1;
	}
	if (*count)
		return 0;
	message_error("no procedure '%s'%s%s%s has samples in %s; %s", name,
		      image ? " of image '" : "", image ? image : "", image ? "'" : "", title,
		      advice_for(name));
	return 1;
}

int candidates_find_one(const struct annotate_index *index, const char *name, const char *image,
			const char *title, uint32_t *position)
{
	CLEANUP(free_pointer) uint32_t *positions = NULL;
	size_t count = 0;
	int status = candidates_find(index, name, image, title, &positions, &count);
	if (status)
		return status;
	if (count > 1) {
		list_all(index, name, positions, count);
		return 2;
	}
	*position = positions[0];
	return 0;
}

int candidates_hottest(const struct annotate_index *index, const char *image, const char *title,
		       size_t most, uint32_t **positions, size_t *count)
{
	CLEANUP(free_pointer) uint32_t *found = calloc(index->count + 1, sizeof(*found));
	size_t taken = 0;
	if (!found) {
		message_error("out of memory choosing procedures");
		return 1;
	}
	for (size_t i = 0; i < index->count && taken < most; i++)
		if (!image || strcmp(index->procedures[i].image_name, image) == 0)
			found[taken++] = (uint32_t)i;
	if (taken == 0) {
		message_error("no samples%s%s%s in %s", image ? " of image '" : "",
			      image ? image : "", image ? "'" : "", title);
		return 1;
	}
	*positions = found;
	*count = taken;
	found = NULL; /* the caller's from here on */
	return 0;
}
