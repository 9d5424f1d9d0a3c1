#include "cli/limits.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/budget.h"
#include "base/number.h"
#include "cli/message.h"

static bool parse_one(const char *text, size_t length, struct budget_limits *limits)
{
	const char *equals = memchr(text, '=', length);
	const char *name = equals ? text : "memory";
	size_t name_length = equals ? (size_t)(equals - text) : strlen(name);
	const char *number = equals ? equals + 1 : text;
	uint64_t *limit = budget_limit_named(limits, name, name_length);
	char digits[32];
	size_t size = length - (size_t)(number - text);
	if (!limit || size == 0 || size >= sizeof(digits))
		return false;
	memcpy(digits, number, size);
	digits[size] = 0;
	if (strcmp(digits, "none") == 0)
		*limit = BUDGET_NONE;
	return strcmp(digits, "none") == 0 || number_parse_size(digits, limit);
}

static bool parse(const char *text, struct budget_limits *limits)
{
	if (strcmp(text, "none") == 0) {
		*limits = BUDGET_LIMITLESS;
		return true;
	}
	while (true) {
		size_t length = strcspn(text, ",");
		if (!parse_one(text, length, limits))
			return false;
		if (!text[length])
			return true;
		text += length + 1;
	}
}

int limits_open(const char *text)
{
	struct budget_limits limits = BUDGET_DEFAULTS;
	if (text && !parse(text, &limits)) {
		message_error("--limits takes none, a size of memory as 512M, or names with their "
			      "limits as memory=512M,output=1G,depth=100000,frames=1G,name=2M; not "
			      "'%s'",
			      text);
		return 2;
	}
	budget_open(&limits);
	return 0;
}
