#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEFT_OUT " ... "

/* The cause stands at the end, and whoever chose a long name in the middle must not hide it. */
static void keep_ends(char *out, size_t size, const char *whole)
{
	size_t length = strlen(whole);
	if (length < size) {
		memcpy(out, whole, length + 1);
		return;
	}
	size_t head = (size - sizeof(LEFT_OUT)) / 2;
	const char *tail = whole + length - (size - sizeof(LEFT_OUT) - head);
	while (head > 0 && ((unsigned char)whole[head] & 0xc0) == 0x80)
		head--;
	while (((unsigned char)*tail & 0xc0) == 0x80)
		tail++;
	snprintf(out, size, "%.*s" LEFT_OUT "%s", (int)head, whole, tail);
}

int error_set(struct error *err, int code, const char *format, ...)
{
	if (!err)
		return code;
	err->code = code;
	char *whole = NULL;
	va_list args, again;
	va_start(args, format);
	va_copy(again, args);
	int size = vsnprintf(err->text, sizeof(err->text), format, args);
	if (size >= (int)sizeof(err->text) && vasprintf(&whole, format, again) >= 0) {
		keep_ends(err->text, sizeof(err->text), whole);
		free(whole);
	}
	va_end(again);
	va_end(args);
	return code;
}

int error_prefix(struct error *err, const char *format, ...)
{
	if (!err)
		return -EIO;
	char before[sizeof(err->text)], prefix[sizeof(err->text) / 2];
	char whole[sizeof(before) + sizeof(prefix) + 2];
	memcpy(before, err->text, sizeof(before));
	va_list args;
	va_start(args, format);
	vsnprintf(prefix, sizeof(prefix), format, args);
	va_end(args);
	snprintf(whole, sizeof(whole), "%s: %s", prefix, before);
	keep_ends(err->text, sizeof(err->text), whole);
	return err->code ? err->code : -EIO;
}
