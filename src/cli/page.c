#include "cli/page.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/visible_text.h"
#include "cli/message.h"
#include "cli/pager.h"
#include "render/text_table.h"

/* Prints nothing where a limit was passed on the way: names may be missing or wrong then. */
static int print(const struct buffer *bytes, FILE *stream)
{
	if (message_refused())
		return 1;
	if (buffer_failed(bytes)) {
		message_error("out of memory for what is printed");
		return 1;
	}
	if (bytes->size)
		fwrite(bytes->data, 1, bytes->size,
		       stream); /* main() checks whether stdout failed */
	return 0;
}

static int write_to(FILE *stream, const struct buffer *page, enum page_kind kind)
{
	CLEANUP(buffer_release) struct buffer safe = { 0 };
	if (kind == PAGE_JSON)
		return print(page, stream);
	const char *bytes = (const char *)page->data;
	char between = kind == PAGE_FIELDS ? '\t' : '\n';
	for (size_t i = 0; i < page->size;) {
		size_t from = i, own = 0;
		while (i < page->size && bytes[i] != '\n' && bytes[i] != between &&
		       (own = text_style_size(bytes + i, page->size - i)) == 0)
			i++;
		text_append_safe(&safe, bytes + from, i - from);
		own = i < page->size && (bytes[i] == '\n' || bytes[i] == between) ? 1 : own;
		if (i < page->size)
			buffer_append(&safe, bytes + i, own);
		i += own;
	}
	return print(&safe, stream);
}

int page_write(const struct buffer *page, enum page_kind kind)
{
	return write_to(stdout, page, kind);
}

int page_show(const struct buffer *page, enum page_kind kind)
{
	if (buffer_failed(page)) {
		message_error("out of memory writing the page");
		return 1;
	}
	pager_start();
	return page_write(page, kind);
}

int page_write_beside(const struct buffer *page, enum page_kind kind)
{
	fflush(stdout);
	clearerr(stderr);
	int status = write_to(stderr, page, kind);
	if (status || !ferror(stderr) || errno == EPIPE)
		return status; /* a reader that left ends us quietly, as on stdout */
	message_error("cannot write to standard error: %s", strerror(errno));
	return 1;
}

void page_line(const char *format, ...)
{
	CLEANUP(free_pointer) char *line = NULL;
	CLEANUP(buffer_release) struct buffer safe = { 0 };
	va_list args;
	va_start(args, format);
	int size = vasprintf(&line, format, args);
	va_end(args);
	if (size < 0) {
		line = NULL;
		safe.failed = true;
	} else {
		text_append_safe(&safe, line, (size_t)size);
	}
	buffer_append_u8(&safe, '\n');
	print(&safe, stdout);
}
