#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int error_set(struct error *err, int code, const char *format, ...)
{
	if (!err)
		return code;
	err->code = code;
	va_list args;
	va_start(args, format);
	vsnprintf(err->text, sizeof(err->text), format, args);
	va_end(args);
	return code;
}

int error_prefix(struct error *err, const char *format, ...)
{
	if (!err)
		return -EIO;
	char before[sizeof(err->text)];
	memcpy(before, err->text, sizeof(before));
	va_list args;
	va_start(args, format);
	int written = vsnprintf(err->text, sizeof(err->text), format, args);
	va_end(args);
	if (written >= 0 && (size_t)written + 3 < sizeof(err->text))
		snprintf(err->text + written, sizeof(err->text) - (size_t)written, ": %.*s",
			 (int)(sizeof(err->text) - (size_t)written - 3), before);
	return err->code ? err->code : -EIO;
}
