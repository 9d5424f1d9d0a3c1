#include "import/folded_name.h"

#include "base/count_of.h"

static const struct {
	char byte;
	char code[3];
} escapes[] = { { ';', "3B" }, { '\n', "0A" }, { '\r', "0D" }, { 0, "00" } };

/*
 * Behind a '%': the number of "25" before one of our codes, or -1 when none
 * follows. *escape is the code's position in the table.
 */
static long nesting(const char *text, size_t size, size_t *escape)
{
	size_t at = 0;
	while (size - at >= 2 && text[at] == '2' && text[at + 1] == '5')
		at += 2;
	if (size - at < 2)
		return -1;
	for (size_t i = 0; i < COUNT_OF(escapes); i++) {
		if (text[at] == escapes[i].code[0] && text[at + 1] == escapes[i].code[1]) {
			*escape = i;
			return (long)(at / 2);
		}
	}
	return -1;
}

void folded_encode_name(struct buffer *out, struct span name)
{
	const char *text = name.data;
	size_t written = 0;
	for (size_t i = 0; i < name.size; i++) {
		size_t escape = 0;
		if (text[i] == '%') {
			if (nesting(text + i + 1, name.size - i - 1, &escape) < 0)
				continue;
			buffer_append(out, text + written, i + 1 - written);
			buffer_append_text(out, "25");
			written = i + 1;
			continue;
		}
		while (escape < COUNT_OF(escapes) && text[i] != escapes[escape].byte)
			escape++;
		if (escape == COUNT_OF(escapes))
			continue;
		buffer_append(out, text + written, i - written);
		buffer_append_u8(out, '%');
		buffer_append_text(out, escapes[escape].code);
		written = i + 1;
	}
	if (written < name.size)
		buffer_append(out, text + written, name.size - written);
}

void folded_decode_name(struct buffer *out, struct span spelling)
{
	const char *text = spelling.data;
	size_t written = 0;
	for (size_t i = 0; i < spelling.size; i++) {
		if (text[i] != '%')
			continue;
		size_t escape = 0;
		long depth = nesting(text + i + 1, spelling.size - i - 1, &escape);
		if (depth < 0)
			continue;
		if (depth == 0) {
			buffer_append(out, text + written, i - written);
			buffer_append_u8(out, (uint8_t)escapes[escape].byte);
		} else {
			buffer_append(out, text + written, i + 1 - written);
		}
		i += 2; /* over the code, or over one of the "25" */
		written = i + 1;
		if (depth > 0) /* what is left of this escape is literal */
			i += (size_t)depth * 2;
	}
	if (written < spelling.size)
		buffer_append(out, text + written, spelling.size - written);
}
