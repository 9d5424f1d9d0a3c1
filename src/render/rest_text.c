#include "render/rest_text.h"

#include <stdbool.h>

const char *rest_options(size_t rows, double min_percent, size_t limit)
{
	bool beyond = limit && rows > limit;
	if (!(min_percent > 0))
		return "--limit 0";
	/* rows that --min hides may be beyond the limit, too */
	return beyond ? "--min 0 --limit 0" : "--min 0";
}
