#include "analyze/names/procedure_match.h"

#include <errno.h>
#include <regex.h>
#include <stdbool.h>
#include <stdlib.h>

#include "analyze/names/code_places.h"
#include "analyze/names/procedure_name.h"
#include "base/error.h"

struct procedure_match {
	const char *text; /* borrowed */
	regex_t expression;
	bool *matches; /* by procedure; NULL: not asked yet */
	size_t count;
};

void procedure_match_free(struct procedure_match *match)
{
	if (!match)
		return;
	regfree(&match->expression);
	free(match->matches);
	free(match);
}

int procedure_match_new(const char *option, const char *text, struct procedure_match **out,
			struct error *err)
{
	if (!text)
		return 0;
	struct procedure_match *match = calloc(1, sizeof(*match));
	if (!match)
		return error_set(err, -ENOMEM, "out of memory for %s", option);
	int code = regcomp(&match->expression, text, REG_EXTENDED | REG_NOSUB);
	if (code) {
		char why[128];
		regerror(code, &match->expression, why, sizeof(why));
		free(match);
		return error_set(err, -EINVAL, "%s '%s' is no extended regular expression: %s",
				 option, text, why);
	}
	match->text = text;
	*out = match;
	return 0;
}

static enum procedure_name_fit fit_of(const struct procedure_match *match,
				      const struct places *places, size_t procedure)
{
	const struct place_procedure *row = places_procedure(places, (uint32_t)procedure);
	return procedure_name_fit(row->name, row->linkage, match->text);
}

static int answer_all(struct procedure_match *match, const struct places *places)
{
	size_t count = places_procedure_count(places);
	match->matches = calloc(count + 1, sizeof(*match->matches));
	if (!match->matches)
		return -ENOMEM;
	match->count = count;
	enum procedure_name_fit best = NAME_FITS_NOT;
	for (size_t i = 0; i < count && best < NAME_FITS_WHOLE; i++) {
		enum procedure_name_fit fit = fit_of(match, places, i);
		best = fit > best ? fit : best;
	}
	for (size_t i = 0; i < count; i++)
		match->matches[i] = best >= NAME_FITS_BASE
					    ? fit_of(match, places, i) == best
					    : regexec(&match->expression,
						      places_procedure(places, (uint32_t)i)->name,
						      0, NULL, 0) == 0;
	return 0;
}

int procedure_match_asks(struct procedure_match *match, const struct places *places,
			 uint32_t procedure)
{
	int ret = match->matches ? 0 : answer_all(match, places);
	if (ret < 0)
		return ret;
	return procedure < match->count && match->matches[procedure];
}
