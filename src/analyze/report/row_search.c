#include "analyze/report/row_search.h"

#include <stdbool.h>
#include <string.h>

#include "analyze/report/report.h"

static bool holds(const char *name, const char *text)
{
	return name && strcasestr(name, text);
}

static bool row_holds(const struct report_row *row, const char *text)
{
	bool found = holds(row->image_name, text);
	for (size_t i = 0; i < REPORT_PARTS && !found; i++)
		found = holds(row->texts[i], text);
	return found;
}

void report_search_rows(struct report *report, const char *text)
{
	size_t kept = 0;
	for (size_t i = 0; i < report->row_count; i++)
		if (!*text || row_holds(&report->rows[i], text))
			report->rows[kept++] = report->rows[i];
	report->row_count = kept;
}
