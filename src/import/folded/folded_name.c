#include "import/folded/folded_name.h"

static bool is_escaped(uint8_t byte)
{
	return byte == ';' || byte == 0x7f || (byte < 0x20 && byte != '\t');
}

/* The value of an upper-case hexadecimal digit, or -1. */
static int digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/*
 * Behind a '%': the number of "25" before one of our codes, or -1 when none
 * follows. *byte is what the code stands for.
 */
static long nesting(const char *text, size_t size, uint8_t *byte)
{
	size_t at = 0;
	while (size - at >= 2 && text[at] == '2' && text[at + 1] == '5')
		at += 2;
	if (size - at < 2 || digit(text[at]) < 0 || digit(text[at + 1]) < 0)
		return -1;
	*byte = (uint8_t)(digit(text[at]) << 4 | digit(text[at + 1]));
	return is_escaped(*byte) ? (long)(at / 2) : -1;
}

void folded_encode_name(struct buffer *out, struct span name)
{
	static const char digits[] = "0123456789ABCDEF";
	const char *text = name.data;
	size_t written = 0;
	for (size_t i = 0; i < name.size; i++) {
		uint8_t byte = (uint8_t)text[i];
		if (text[i] == '%') {
			if (nesting(text + i + 1, name.size - i - 1, &byte) < 0)
				continue;
			buffer_append(out, text + written, i + 1 - written);
			buffer_append_text(out, "25");
		} else if (is_escaped(byte)) {
			const char code[] = { '%', digits[byte >> 4], digits[byte & 15] };
			buffer_append(out, text + written, i - written);
			buffer_append(out, code, sizeof(code));
		} else {
			continue;
		}
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
		uint8_t byte = 0;
		long depth = nesting(text + i + 1, spelling.size - i - 1, &byte);
		if (depth < 0)
			continue;
		if (depth == 0) {
			buffer_append(out, text + written, i - written);
			buffer_append_u8(out, byte);
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
