#include "render/text_wrap.h"

#include <string.h>

#include "base/buffer.h"

#define BLANKS " \n\t"

void text_append_wrapped(size_t indent, const char *text, struct buffer *out)
{
	size_t column = indent;
	while (*text) {
		size_t word = strcspn(text, BLANKS);
		if (column > indent && column + 1 + word > TEXT_WRAP_COLUMNS) {
			buffer_printf(out, "\n%*s", (int)indent, "");
			column = indent;
		} else if (column > indent) {
			buffer_append_u8(out, ' ');
			column++;
		}
		buffer_append(out, text, word);
		column += word;
		text += word + strspn(text + word, BLANKS);
	}
	buffer_append_u8(out, '\n');
}
