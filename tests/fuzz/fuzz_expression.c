/* Expressions of events: what is accepted can be evaluated, and is what was written. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "count/expression.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const names[] = { "cycles", "cycles:u", "L1-dcache-load-misses", "cpu/a=1/",
				     "units" };
#define NAMES (sizeof(names) / sizeof(names[0]))

static size_t longest_name(const void *context, const char *text, size_t *name)
{
	size_t longest = 0;
	(void)context;
	for (size_t i = 0; i < NAMES; i++) {
		size_t size = strlen(names[i]);
		if (size > longest && strncmp(text, names[i], size) == 0) {
			longest = size;
			*name = i;
		}
	}
	return longest;
}

/* How deep the operands get; below 1 in between, or not 1 at the end: it is no expression. */
static void check_steps(const struct expression *expression)
{
	size_t depth = 0;
	if (expression->count > EXPRESSION_STEPS)
		abort();
	for (size_t i = 0; i < expression->count; i++) {
		const struct expression_step *step = &expression->steps[i];
		if (step->kind == EXPRESSION_NAME && step->name >= NAMES)
			abort();
		if (step->kind == EXPRESSION_NUMBER && !isfinite(step->number))
			abort();
		if (step->kind == EXPRESSION_NUMBER || step->kind == EXPRESSION_NAME)
			depth++;
		else if (depth < 1 + (step->kind != EXPRESSION_NEGATE))
			abort();
		else
			depth -= step->kind != EXPRESSION_NEGATE;
	}
	if (depth != 1)
		abort();
}

static void check_value(const struct expression *expression)
{
	double values[NAMES] = { 1, 2, 3, 4, 5 };
	expression_value(expression, values);
	/* what is not known never becomes a number */
	for (size_t i = 0; i < expression->count; i++)
		if (expression->steps[i].kind == EXPRESSION_NAME) {
			values[expression->steps[i].name] = NAN;
			if (!isnan(expression_value(expression, values)))
				abort();
		}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct expression *expression = malloc(sizeof(*expression));
	char *text = malloc(size + 1);
	struct error err = { 0 };
	if (!text || !expression)
		abort();
	memcpy(text, data, size);
	text[size] = 0;
	int status = expression_parse(text, longest_name, NULL, expression, &err);
	if (status ? err.code != status || !err.text[0] : err.code != 0)
		abort();
	if (status == 0) {
		check_steps(expression);
		check_value(expression);
	}
	free(text);
	free(expression);
	return 0;
}
