/*
 * procedure_match - which procedures --focus or --ignore mean: an extended regular
 * expression that is searched in their names. A text that is, letter for letter, the
 * name of procedures (analyze/names/procedure_name.h) means these alone: "operator()"
 * and "main.(*T).f" are names, and "demo::sortit" is none of the templates that have
 * it for an argument. Each name is searched once, in time proportional to its length:
 * references back to a group ("(a)\1", which POSIX has for basic expressions only)
 * are refused, since nothing bounds their cost.
 */
#pragma once

#include <stdint.h>

struct error;
struct places;
struct procedure_match;

/*
 * `text` is borrowed; NULL gives no match and leaves *out alone. `option` is
 * for messages. Returns 0, -EINVAL (no expression, or one that refers back) or -ENOMEM.
 */
int procedure_match_new(const char *option, const char *text, struct procedure_match **out,
			struct error *err);
void procedure_match_free(struct procedure_match *match); /* NULL does nothing */

/* Whether a procedure matches: 1, 0 or -ENOMEM. The first call looks at all procedures, so all must
 * be in `places` by then; later ones match nothing. */
int procedure_match_has(struct procedure_match *match, const struct places *places,
			uint32_t procedure);
