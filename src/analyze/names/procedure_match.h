/*
 * procedure_match - an extended regular expression about procedures' names, as
 * --focus and --ignore take it, asked once a procedure. One that is, letter for
 * letter, what procedures are called (analyze/names/procedure_name.h) means these:
 * "operator()" and "main.(*T).f" are names, and "demo::sortit" is none of the
 * templates that have it for an argument. A name costs what its length does: what
 * refers back to a group ("(a)\1", which POSIX has for basic expressions only) is
 * refused, since nothing bounds what that costs.
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

/* Does the procedure match? All procedures are in `places` when this is first asked. 1, 0 or
 * -ENOMEM. */
int procedure_match_asks(struct procedure_match *match, const struct places *places,
			 uint32_t procedure);
