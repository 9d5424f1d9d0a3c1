#include "export/origins.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/names/resolve.h"
#include "base/array.h"
#include "base/buffer.h"
#include "base/hash.h"
#include "export/estimates.h"

#define NOT_KNOWN 1 /* the number of "???" */

static bool same_file(const void *rows, uint32_t position, const void *wanted)
{
	return strcmp(((const struct origin_file *)rows)[position].text, wanted) == 0;
}

/* 0: out of memory. */
static uint32_t number_file(struct origins *origins, const char *text)
{
	uint64_t hash = hash_bytes(text, strlen(text));
	uint32_t position = hash_index_find(&origins->index, hash, same_file, origins->files, text);
	if (position != HASH_INDEX_NONE)
		return position + 1;
	if (array_reserve(&origins->files, &origins->capacity, origins->count,
			  sizeof(*origins->files)) < 0 ||
	    hash_index_add(&origins->index, hash, (uint32_t)origins->count) < 0)
		return 0;
	origins->files[origins->count++] = (struct origin_file){ text, false };
	return (uint32_t)origins->count;
}

int origins_init(struct origins *origins, struct resolver *resolver)
{
	*origins = (struct origins){ .resolver = resolver };
	return number_file(origins, "???") == NOT_KNOWN ? 0 : -ENOMEM;
}

void origins_release(struct origins *origins)
{
	free(origins->files);
	hash_index_release(&origins->index);
}

int origins_find(struct origins *origins, uint32_t image, uint64_t vaddr, enum origin_depth depth,
		 struct origin *origin)
{
	struct resolver *resolver = origins->resolver;
	const struct source_frame *frames;
	*origin = (struct origin){ NOT_KNOWN, 0 };
	if (!image || !resolver_has_source(resolver, image))
		return 0;
	const struct place *place = resolver_place_in_file(resolver, image, vaddr);
	size_t count = place ? resolver_source(resolver, place, &frames) : 0;
	if (!count)
		return place ? 0 : -ENOMEM;
	const struct source_frame *frame = &frames[depth == DEPTH_OUTERMOST ? count - 1 : 0];
	if (!frame->file)
		return 0;
	*origin = (struct origin){ number_file(origins, frame->file), frame->line };
	return origin->file ? 0 : -ENOMEM;
}

void origins_append_file(struct origins *origins, const char *key, uint32_t number,
			 struct buffer *out)
{
	struct origin_file *file = &origins->files[number - 1];
	buffer_printf(out, "%s=(%" PRIu32 ")", key, number);
	if (!file->written) {
		buffer_append_u8(out, ' ');
		estimates_append_text(out, span_of_text(file->text));
	}
	file->written = true;
	buffer_append_u8(out, '\n');
}
