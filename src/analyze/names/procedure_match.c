#include "analyze/names/procedure_match.h"

#include <errno.h>
#include <regex.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/names/code_places.h"
#include "analyze/names/procedure_name.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"

struct procedure_match {
	const char *text; /* borrowed */
	regex_t expression;
	bool *matches; /* by procedure; NULL: not looked at yet */
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

/* Bytes of the "[^]a-z[:digit:]]" at the start of `text`, which is well-formed. */
static size_t bracket_expression_size(const char *text)
{
	size_t size = 1;
	size += text[size] == '^';
	size += text[size] == ']';
	while (text[size] && text[size] != ']') {
		char closing[] = { text[size + 1], ']', 0 };
		bool named = text[size] == '[' && strchr(":.=", text[size + 1]) && text[size + 1];
		const char *end = named ? strstr(text + size + 2, closing) : NULL;
		size = end ? (size_t)(end + 2 - text) : size + 1;
	}
	return size + (text[size] == ']');
}

/*
 * "^.*(TEXT)", which matches where TEXT does anywhere in a name. glibc's regexec() starts a search
 * again at each byte of the name, which takes the square of its length; an anchored expression it
 * follows once, from the first byte to the last. A ")" that closes nothing means itself, so it must
 * not close the group. False: TEXT refers back to a group, which no automaton can follow.
 */
static bool anchor(const char *text, struct buffer *out)
{
	size_t depth = 0;
	buffer_append_text(out, "^.*(");
	for (size_t i = 0, size; text[i]; i += size) {
		size = text[i] == '[' ? bracket_expression_size(text + i) : 1;
		if (text[i] == '\\' && text[i + 1]) {
			if (text[i + 1] >= '1' && text[i + 1] <= '9')
				return false;
			size = 2;
		} else if (text[i] == '(') {
			depth++;
		} else if (text[i] == ')' && depth == 0) {
			buffer_append_text(out, "\\");
		} else if (text[i] == ')') {
			depth--;
		}
		buffer_append(out, text + i, size);
	}
	buffer_append_text(out, ")");
	return true;
}

/* 0, or -EINVAL or -ENOMEM with what regcomp() says in *err. */
static int compile(const char *option, const char *text, const char *compiled, regex_t *expression,
		   struct error *err)
{
	int code = regcomp(expression, compiled, REG_EXTENDED | REG_NOSUB);
	char why[128];
	if (!code)
		return 0;
	regerror(code, expression, why, sizeof(why));
	return error_set(err, code == REG_ESPACE ? -ENOMEM : -EINVAL,
			 "%s '%s' is no extended regular expression: %s", option, text, why);
}

int procedure_match_new(const char *option, const char *text, struct procedure_match **out,
			struct error *err)
{
	if (!text)
		return 0;
	regex_t alone;
	int ret = compile(option, text, text, &alone, err); /* errors are about TEXT itself */
	if (ret < 0)
		return ret;
	regfree(&alone);
	CLEANUP(buffer_release) struct buffer anchored = { 0 };
	if (!anchor(text, &anchored))
		return error_set(err, -EINVAL,
				 "%s '%s' is no extended regular expression: it refers back to a "
				 "group",
				 option, text);
	struct procedure_match *match = calloc(1, sizeof(*match));
	if (!match || buffer_failed(&anchored)) {
		free(match);
		return error_set(err, -ENOMEM, "out of memory for %s", option);
	}
	ret = compile(option, text, buffer_text(&anchored), &match->expression, err);
	if (ret < 0) {
		free(match);
		return ret;
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

static int match_all(struct procedure_match *match, const struct places *places)
{
	size_t count = places_procedure_count(places);
	CLEANUP(free_pointer) uint8_t *fits = calloc(count + 1, sizeof(*fits));
	match->matches = calloc(count + 1, sizeof(*match->matches));
	if (!fits || !match->matches)
		return -ENOMEM;
	match->count = count;
	uint8_t best = NAME_FITS_NOT;
	for (size_t i = 0; i < count; i++) {
		fits[i] = (uint8_t)fit_of(match, places, i);
		best = fits[i] > best ? fits[i] : best;
	}
	for (size_t i = 0; i < count; i++) {
		const char *name = places_procedure(places, (uint32_t)i)->name;
		match->matches[i] = best >= NAME_FITS_BASE
					    ? fits[i] == best
					    : regexec(&match->expression, name, 0, NULL, 0) == 0;
	}
	return 0;
}

int procedure_match_has(struct procedure_match *match, const struct places *places,
			uint32_t procedure)
{
	int ret = match->matches ? 0 : match_all(match, places);
	if (ret < 0)
		return ret;
	return procedure < match->count && match->matches[procedure];
}
