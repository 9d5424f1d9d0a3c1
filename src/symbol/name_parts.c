#include "symbol/name_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/count_of.h"
#include "base/cursor.h"

/* What linkers and build tools put before a mangled name; it stays, for it tells which of several
 * symbols this is. */
static const char *const marks[] = {
	"__dl_",	     /* Android's linker, of its own functions */
	"__imp_",	     /* a pointer into a library of Windows */
	"__wrap_",	     /* ld --wrap, both of them */
	"__real_", ".text.", /* the section of a function */
};

static struct span part(struct span text, size_t from, size_t to)
{
	return (struct span){ (const char *)text.data + from, to - from };
}

struct name_parts name_parts_of(struct span linkage)
{
	struct name_parts parts = { .mangled = linkage };
	for (size_t i = 0; i < COUNT_OF(marks); i++)
		if (span_starts_with(linkage, marks[i])) {
			size_t size = strlen(marks[i]);
			parts.before = part(linkage, 0, size);
			parts.mangled = part(linkage, size, linkage.size);
			break;
		}
	/* on macOS all symbols have one more underscore than in their source */
	if (span_starts_with(parts.mangled, "__Z") || span_starts_with(parts.mangled, "__R"))
		parts.mangled = part(parts.mangled, 1, parts.mangled.size);
	/* "@plt", "@@GLIBCXX_3.4": whose, not what */
	const char *text = parts.mangled.data;
	const char *at = parts.mangled.size ? memchr(text, '@', parts.mangled.size) : NULL;
	if (at) {
		parts.behind = part(parts.mangled, (size_t)(at - text), parts.mangled.size);
		parts.mangled.size = (size_t)(at - text);
	}
	return parts;
}

bool name_parts_look_mangled(const struct name_parts *parts)
{
	struct span mangled = parts->mangled;
	const char *text = mangled.data;
	return mangled.size > 2 && mangled.size <= NAME_MANGLED_MAX_BYTES && text[0] == '_' &&
	       (text[1] == 'Z' || text[1] == 'R') && !memchr(text, 0, mangled.size);
}

static char *put_together(const struct name_parts *parts, struct span text)
{
	const struct span pieces[] = { parts->before, text, parts->behind };
	char *shown =
		text.size ? malloc(parts->before.size + text.size + parts->behind.size + 1) : NULL;
	char *at = shown;
	for (size_t i = 0; shown && i < COUNT_OF(pieces); i++)
		at = pieces[i].size ? mempcpy(at, pieces[i].data, pieces[i].size) : at;
	if (shown)
		*at = 0;
	return shown;
}

int name_parts_read(struct span answer, const struct name_parts *parts, size_t count, char **shown,
		    struct error *err)
{
	struct cursor cursor = cursor_of(answer.data, answer.size);
	bool too_long = false;
	for (size_t i = 0; i < count; i++) {
		struct span text = cursor_text(&cursor);
		too_long = too_long || text.size > NAME_SHOWN_MAX_BYTES;
		shown[i] = too_long ? NULL : put_together(&parts[i], text);
	}
	if (!cursor.failed && cursor_left(&cursor) == 0 && !too_long)
		return 0;
	for (size_t i = 0; i < count; i++) {
		free(shown[i]);
		shown[i] = NULL;
	}
	return error_set(err, -EIO, "could not be read: the helper's answer makes no sense");
}
