#include "analyze/report/page_notes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

#define NOTE_BYTES 1024 /* longer sentences, which only names from strangers make, are cut */

int page_note_add(struct arena *arena, const char ***notes, size_t *count, const char *format,
		  va_list args)
{
	char sentence[NOTE_BYTES];
	vsnprintf(sentence, sizeof(sentence), format, args);
	const char **grown = reallocarray(*notes, *count + 1, sizeof(**notes));
	if (!grown)
		return -ENOMEM;
	*notes = grown;
	const char *copy = arena_copy_text(arena, sentence, strlen(sentence));
	if (!copy)
		return -ENOMEM;
	grown[(*count)++] = copy;
	return 0;
}
