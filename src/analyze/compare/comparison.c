#include "analyze/compare/comparison.h"

#include <stdarg.h>

#include "analyze/report/page_notes.h"

int compare_note(struct comparison *comparison, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	int ret = page_note_add(&comparison->arena, &comparison->notes, &comparison->note_count,
				format, args);
	va_end(args);
	return ret;
}
