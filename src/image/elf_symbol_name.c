#include "image/elf_symbol_name.h"

#include <string.h>

#include "base/cursor.h"
#include "image/elf_file.h"

struct span elf_symbol_name(const struct elf_file *file, const struct elf_section *symbols,
			    uint64_t number)
{
	struct span none = { NULL, 0 };
	struct span table = elf_file_section_bytes(file, symbols);
	size_t entry_bytes = file->wide ? 24 : 16;
	if (number == 0 || number >= table.size / entry_bytes)
		return none;
	struct span texts = elf_file_section_bytes(file, elf_file_section_at(file, symbols->link));
	struct cursor cursor =
		cursor_of((const uint8_t *)table.data + number * entry_bytes, entry_bytes);
	uint32_t at = cursor_u32(&cursor);
	if (at >= texts.size)
		return none;
	const char *text = (const char *)texts.data + at;
	struct span name = { text, strnlen(text, texts.size - at) };
	const char *version = name.size > 1 ? memchr(text + 1, '@', name.size - 1) : NULL;
	if (version)
		name.size = (size_t)(version - text);
	return name;
}
