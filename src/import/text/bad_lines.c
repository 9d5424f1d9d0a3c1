#include "import/text/bad_lines.h"

#include <stddef.h>
#include <stdio.h>

#include "import/importer.h"

void bad_lines_add(struct bad_lines *bad, uint64_t number)
{
	if (bad->count < BAD_LINES_SHOWN)
		bad->first[bad->count] = number;
	bad->count++;
}

void bad_lines_report(const struct bad_lines *bad, const struct import_options *options,
		      uint64_t lines, const char *what)
{
	char numbers[BAD_LINES_SHOWN * 24] = "";
	size_t at = 0;
	if (!bad->count)
		return;
	for (size_t i = 0; i < BAD_LINES_SHOWN && i < bad->count; i++)
		at += (size_t)snprintf(numbers + at, sizeof(numbers) - at, "%s%llu", i ? ", " : "",
				       (unsigned long long)bad->first[i]);
	import_report(options, IMPORT_WARNING, "%llu of %llu lines %s and are left out (line %s%s)",
		      (unsigned long long)bad->count, (unsigned long long)lines, what, numbers,
		      bad->count > BAD_LINES_SHOWN ? ", ..." : "");
}
