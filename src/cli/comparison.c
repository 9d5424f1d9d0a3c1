#include "cli/comparison.h"

#include <string.h>

int comparison_choose_counts(const struct verb *verb, const struct comparison_options *options,
			     enum difference_counts *counts)
{
	const char *text = options->counts;
	*counts = DIFFERENCE_COUNTS_UNKNOWN;
	if (!text)
		return 0;
	if (strcmp(text, "samples") == 0)
		*counts = DIFFERENCE_COUNTS_SAMPLES;
	else if (strcmp(text, "exact") == 0)
		*counts = DIFFERENCE_COUNTS_EXACT;
	else
		return options_misuse(verb, "--counts is samples or exact, not '%s'", text);
	return 0;
}
