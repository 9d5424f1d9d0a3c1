#include "cli/candidates.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyze/resolve.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "cli/message.h"
#include "render/quantity.h"
#include "render/text_table.h"

#define SHOWN_CANDIDATES 20

void candidates_list(const struct annotate_index *index, const char *name,
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
		text_append_safe(&line, procedure->name, strlen(procedure->name));
		if (candidate->image_name[0]) {
			buffer_append_text(&line, " in ");
			text_append_safe(&line, candidate->image_name,
					 strlen(candidate->image_name));
		}
		if (procedure->extent_known && candidate->image_name[0]) {
			buffer_append_text(&line, ", as ");
			text_append_safe(&line, candidate->image_name,
					 strlen(candidate->image_name));
			buffer_printf(&line, "+0x%" PRIx64, procedure->first);
		}
		fprintf(stderr, "  %10s samples  %s\n", amount, buffer_text(&line));
	}
	if (count > SHOWN_CANDIDATES)
		fprintf(stderr, "  and %zu more\n", count - SHOWN_CANDIDATES);
}
