/*
 * expression - arithmetic of named values: numbers, names, + - * / and parentheses. Kept in the
 * order of evaluation (reverse Polish), so that evaluating neither recurses nor allocates.
 */
#pragma once

#include <stddef.h>

struct error;

#define EXPRESSION_STEPS 256 /* numbers, names and operators of one expression */

enum expression_kind {
	EXPRESSION_NUMBER,
	EXPRESSION_NAME,
	EXPRESSION_ADD,
	EXPRESSION_SUBTRACT,
	EXPRESSION_MULTIPLY,
	EXPRESSION_DIVIDE,
	EXPRESSION_NEGATE,
};

struct expression_step {
	enum expression_kind kind;
	double number; /* of EXPRESSION_NUMBER */
	size_t name;   /* of EXPRESSION_NAME: its number */
};

struct expression {
	struct expression_step steps[EXPRESSION_STEPS];
	size_t count;
};

/*
 * How many bytes of `text` are a name, and which: the longest one that begins there. 0 when none
 * does.
 */
typedef size_t (*expression_namer)(const void *context, const char *text, size_t *name);

/*
 * Reads the text. A name may stand between single quotes. 0; -EINVAL for a mistake and -ENOENT for
 * a name that is not known, with text and position in *err.
 */
int expression_parse(const char *text, expression_namer namer, const void *context,
		     struct expression *expression, struct error *err);

/* With values[name] for names. NAN where a value is, or where 0 is divided by. */
double expression_value(const struct expression *expression, const double *values);
