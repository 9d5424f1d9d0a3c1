/* Metrics as a user writes them, of events whose names hold operators. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "count/expression.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const names[] = { "cycles", "L1-dcache-loads", "cpu/event=0x3c/", "units" };
#define NAMES (sizeof(names) / sizeof(names[0]))

static size_t find_name(const void *context, const char *text, size_t *name)
{
	(void)context;
	for (size_t i = 0; i < NAMES; i++)
		if (strncmp(text, names[i], strlen(names[i])) == 0) {
			*name = i;
			return strlen(names[i]);
		}
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const double values[NAMES] = { 3, 0, 1e308, 7 };
	static struct expression expression;
	struct error err = { 0 };
	char *text = malloc(size + 1);
	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = 0;
	int status = expression_parse(text, find_name, NULL, &expression, &err);
	if (status ? err.code != status || !err.text[0] : expression.count == 0)
		abort();
	if (expression.count > EXPRESSION_STEPS)
		abort();
	for (size_t i = 0; i < expression.count; i++)
		if (expression.steps[i].kind == EXPRESSION_NAME &&
		    expression.steps[i].name >= NAMES)
			abort();
	volatile double value = status ? 0 : expression_value(&expression, values);
	(void)value;
	free(text);
	return 0;
}
