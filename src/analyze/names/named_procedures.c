#include "analyze/names/named_procedures.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/names/code_places.h"
#include "analyze/names/procedure_name.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"

#define AMBIGUOUS_MAX 8 /* names in the message about an ambiguous one */

/* Lists the first AMBIGUOUS_MAX names in alphabetical order, each once: one pass for each, without
 * memory for a sorted list. */
static int refuse_ambiguous(const struct places *places, const char *name, const bool *meant,
			    size_t count, struct error *err)
{
	CLEANUP(buffer_release) struct buffer list = { 0 };
	const char *last = "";
	size_t shown = 0;
	for (;;) {
		const char *next = NULL;
		for (size_t i = 0; i < count; i++) {
			const char *candidate = places_procedure(places, (uint32_t)i)->name;
			if (meant[i] && strcmp(candidate, last) > 0 &&
			    (!next || strcmp(candidate, next) < 0))
				next = candidate;
		}
		if (!next)
			break;
		if (shown == AMBIGUOUS_MAX) {
			buffer_append_text(&list, ", ...");
			break;
		}
		buffer_printf(&list, "%s%s", shown++ ? ", " : "", next);
		last = next;
	}
	return error_set(err, -EINVAL, "'%s' may mean several procedures: %s", name,
			 buffer_text(&list));
}

/* Marks the procedures that the name fits best. */
static enum procedure_name_fit choose_best(const struct places *places, const char *name,
					   bool *meant, size_t count)
{
	enum procedure_name_fit best = NAME_FITS_NOT;
	for (size_t i = 0; i < count; i++) {
		const struct place_procedure *procedure = places_procedure(places, (uint32_t)i);
		enum procedure_name_fit fit =
			procedure_name_fit(procedure->name, procedure->linkage, name);
		if (fit > best) {
			memset(meant, 0, i * sizeof(*meant));
			best = fit;
		}
		meant[i] = fit == best && fit != NAME_FITS_NOT;
	}
	return best;
}

/* Do the marked ones have different names? Instances of one template count as one procedure, but
 * not where the name fits a part (NAME_FITS_PART), which may be about their arguments. */
static bool differ(const struct places *places, const bool *meant, size_t count,
		   enum procedure_name_fit fit)
{
	CLEANUP(buffer_release) struct buffer first = { 0 };
	for (size_t i = 0; i < count; i++) {
		CLEANUP(buffer_release) struct buffer own = { 0 };
		if (!meant[i])
			continue;
		const char *name = places_procedure(places, (uint32_t)i)->name;
		struct buffer *out = first.size ? &own : &first;
		if (fit == NAME_FITS_TAIL)
			procedure_name_base(name, out);
		else
			buffer_append_text(out, name);
		if (own.size && strcmp(buffer_text(&own), buffer_text(&first)) != 0)
			return true;
	}
	return false;
}

int named_procedures(const struct places *places, const char *name, bool **out, size_t *count,
		     struct error *err)
{
	*count = places_procedure_count(places);
	bool *meant = calloc(*count + 1, sizeof(*meant));
	if (!meant)
		return error_set(err, -ENOMEM, "out of memory looking for '%s'", name);
	*out = meant;
	enum procedure_name_fit best = choose_best(places, name, meant, *count);
	if (best == NAME_FITS_NOT)
		return error_set(err, -ENOENT, "no procedure '%s' in the stacks", name);
	bool several = best < NAME_FITS_BASE && differ(places, meant, *count, best);
	return several ? refuse_ambiguous(places, name, meant, *count, err) : 0;
}
