#include "cli/counts.h"

#include <string.h>

#include "cli/options.h"

int counts_choose(const struct verb *verb, const char *text, enum difference_counts *counts)
{
	*counts = DIFFERENCE_COUNTS_UNKNOWN;
	if (!text)
		return -1;
	if (strcmp(text, "samples") == 0)
		*counts = DIFFERENCE_COUNTS_SAMPLES;
	else if (strcmp(text, "exact") == 0)
		*counts = DIFFERENCE_COUNTS_EXACT;
	else
		return options_misuse(verb, "--counts is samples or exact, not '%s'", text);
	return -1;
}
