#include "symbol/plain_name.h"

#include <stddef.h>
#include <string.h>

#define PLAIN_MAX_BYTES 1024

/* What is left of a name. */
struct rest {
	const char *at, *end;
};

static char peek(const struct rest *rest, size_t ahead)
{
	return ahead < (size_t)(rest->end - rest->at) ? rest->at[ahead] : '\0';
}

/* '\0' at the end, where it stays. */
static char next(struct rest *rest)
{
	return rest->at < rest->end ? *rest->at++ : '\0';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_lower(char c)
{
	return c >= 'a' && c <= 'z';
}

static bool is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

static bool one_of(char c, const char *set)
{
	return c != '\0' && strchr(set, c) != NULL;
}

static bool take(struct rest *rest, char wanted)
{
	if (peek(rest, 0) != wanted || wanted == '\0')
		return false;
	rest->at++;
	return true;
}

static bool take_digits(struct rest *rest)
{
	if (!is_digit(peek(rest, 0)))
		return false;
	while (is_digit(peek(rest, 0)))
		rest->at++;
	return true;
}

/* <source-name>: its length, and as many bytes of any kind. */
static bool take_identifier(struct rest *rest)
{
	size_t length = 0;
	while (is_digit(peek(rest, 0)) && length <= PLAIN_MAX_BYTES)
		length = length * 10 + (size_t)(next(rest) - '0');
	if (length == 0 || length > (size_t)(rest->end - rest->at))
		return false;
	rest->at += length;
	return true;
}

/* <substitution> after its S: "t", or a number in base 36. */
static bool take_substitution(struct rest *rest)
{
	if (one_of(peek(rest, 0), "tabsiod")) {
		rest->at++;
		return true;
	}
	while (is_digit(peek(rest, 0)) || is_upper(peek(rest, 0)))
		rest->at++;
	return take(rest, '_');
}

/* <expr-primary> after its L: a number of a builtin type. */
static bool take_literal(struct rest *rest)
{
	if (!is_lower(next(rest)))
		return false;
	take(rest, 'n');
	return take_digits(rest) && take(rest, 'E');
}

/* One element after the first of the name; see "The Itanium C++ ABI", 5.1. */
static bool take_element(struct rest *rest)
{
	if (is_digit(peek(rest, 0)))
		return take_identifier(rest);
	char tag = next(rest);
	switch (tag) {
	case 'S':
		return take_substitution(rest);
	case 'T': /* <template-param> */
		take_digits(rest);
		return take(rest, '_');
	case 'L':
		return take_literal(rest);
	case 'A': /* <array-type> with a number */
		return take_digits(rest) && take(rest, '_');
	case 'C': /* a constructor */
		return one_of(next(rest), "12345");
	case 'D': /* a destructor, or a builtin type */
		return one_of(next(rest), "012345acdefhinsu");
	case 'B': /* <abi-tag> */
		return take_identifier(rest);
	case 'c': /* "cv": <conversion operator> */
		return peek(rest, 0) != 'v';
	case 'v': /* not <vendor operator>, whose digit is no length */
		return !is_digit(peek(rest, 0));
	default:
		return is_lower(tag) || one_of(tag, "NEIKVPROMF");
	}
}

/* <call-offset>s of thunks: "hn16_", "v0_n24_". */
static bool take_call_offset(struct rest *rest)
{
	size_t numbers = next(rest) == 'h' ? 1 : 2;
	for (size_t i = 0; i < numbers; i++) {
		take(rest, 'n');
		if (!take_digits(rest) || !take(rest, '_'))
			return false;
	}
	return true;
}

/* <special-name>: tables, type information, thunks and guards; anything else is left alone. */
static bool take_special(struct rest *rest)
{
	if (take(rest, 'G'))
		return take(rest, 'V');
	if (!take(rest, 'T'))
		return true;
	if (one_of(peek(rest, 0), "hv"))
		return take_call_offset(rest);
	return one_of(next(rest), "VTIS");
}

/* ".cold", ".isra.0": what compilers hang on, to the end. */
static bool is_clone_suffix(const struct rest *rest)
{
	for (const char *at = rest->at; at < rest->end; at++)
		if (!is_lower(*at) && !is_upper(*at) && !is_digit(*at) && !one_of(*at, "._"))
			return false;
	return true;
}

/* Rust's own mangling: a binder stands behind the F of a function's type or the D of a trait
 * object's, and a Punycode identifier behind a u; it is decoded into memory that is lost when the
 * output is cut short. */
static bool rust_is_plain(struct span linkage)
{
	const char *text = linkage.data;
	for (size_t i = 1; i < linkage.size; i++)
		if ((text[i] == 'G' && one_of(text[i - 1], "FD")) ||
		    (is_digit(text[i]) && text[i - 1] == 'u'))
			return false;
	return true;
}

bool name_is_plain(struct span linkage)
{
	const char *text = linkage.data;
	if (linkage.size < 3 || linkage.size > PLAIN_MAX_BYTES || text[0] != '_')
		return false;
	if (text[1] == 'R')
		return rust_is_plain(linkage);
	struct rest rest = { text + 2, text + linkage.size };
	if (text[1] != 'Z' || !take_special(&rest))
		return false;
	while (rest.at < rest.end && *rest.at != '.')
		if (!take_element(&rest))
			return false;
	return is_clone_suffix(&rest);
}
