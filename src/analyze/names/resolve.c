#include "analyze/names/resolve_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/count_of.h"
#include "base/error.h"

static void add_sentence(struct resolver *resolver, struct sentences *sentences, const char *text)
{
	for (size_t i = 0; i < sentences->count; i++)
		if (strcmp(sentences->list[i], text) == 0)
			return; /* one message per cause */
	char *copy = arena_copy_text(&resolver->arena, text, strlen(text));
	if (copy && array_reserve(&sentences->list, &sentences->capacity, sentences->count,
				  sizeof(*sentences->list)) == 0)
		sentences->list[sentences->count++] = copy;
}

void resolver_add_note(void *context, const char *sentence)
{
	struct resolver *resolver = context;
	add_sentence(resolver, &resolver->notes, sentence);
}

static void add_file_note(void *context, const char *sentence)
{
	struct resolver *resolver = context;
	add_sentence(resolver, &resolver->file_notes, sentence);
}

int resolver_new(const struct profile *profile, const struct resolver_options *options,
		 struct resolver **out, struct error *err)
{
	CLEANUP(resolver_freep) struct resolver *resolver = calloc(1, sizeof(*resolver));
	if (!resolver)
		return error_set(err, -ENOMEM, "out of memory");
	resolver->profile = profile;
	for (size_t i = 0; i < COUNT_OF(resolver->names); i++)
		demangled_init(&resolver->names[i], &resolver->arena);
	if (options)
		resolver->options = *options;
	if (options && options->perf_cache)
		resolver->options.perf_cache = arena_copy_text(
			&resolver->arena, options->perf_cache, strlen(options->perf_cache));
	resolver->image_count = profile_table(profile, PROFILE_IMAGE)->count;
	resolver->images =
		calloc(resolver->image_count ? resolver->image_count : 1, sizeof(char *));
	resolver->spaces = calloc(resolver->image_count ? resolver->image_count : 1, 1);
	if (!resolver->images || !resolver->spaces ||
	    stash_index_new(profile, &resolver->stash) < 0 ||
	    image_claims_init(&resolver->claims, profile, &resolver->arena) < 0)
		return error_set(err, -ENOMEM, "out of memory");
	for (uint32_t id = 1; id <= resolver->image_count; id++)
		resolver->spaces[id - 1] = (uint8_t)profile_image(profile, id).space;
	size_t damaged = stash_index_damaged(resolver->stash);
	if (damaged) {
		char sentence[128];
		snprintf(sentence, sizeof(sentence),
			 "%zu records of names or code in the profile are damaged and left out",
			 damaged);
		resolver_add_note(resolver, sentence);
	}
	if (image_claims_note(&resolver->claims, add_file_note, resolver) < 0)
		return error_set(err, -ENOMEM, "out of memory");
	*out = resolver;
	resolver = NULL;
	return 0;
}

void resolver_free(struct resolver *resolver)
{
	if (!resolver)
		return;
	stash_index_free(resolver->stash);
	stash_index_free(resolver->local_stash);
	local_files_release(&resolver->local);
	for (size_t i = 0; i < COUNT_OF(resolver->names); i++)
		demangled_release(&resolver->names[i]);
	arena_release(&resolver->arena);
	image_claims_release(&resolver->claims);
	free(resolver->images);
	free(resolver->spaces);
	free(resolver->by_record[0]);
	free(resolver->by_record[1]);
	free(resolver->procedures);
	free(resolver->places);
	free(resolver->notes.list);
	free(resolver->file_notes.list);
	hash_index_release(&resolver->procedure_index);
	hash_index_release(&resolver->place_index);
	free(resolver);
}

void resolver_freep(struct resolver **resolver)
{
	resolver_free(*resolver);
}

size_t resolver_notes(const struct resolver *resolver, const char *const **notes)
{
	*notes = resolver->notes.list;
	return resolver->notes.count;
}

size_t resolver_file_notes(const struct resolver *resolver, const char *const **notes)
{
	*notes = resolver->file_notes.list;
	return resolver->file_notes.count;
}

static int read_local_files(struct resolver *resolver)
{
	struct local_files *local = &resolver->local;
	int ret = local_files_gather(resolver->profile, resolver->stash, &resolver->options,
				     resolver_add_note, resolver, local);
	if (ret == 0)
		ret = stash_index_new(local->stash, &resolver->local_stash);
	for (uint32_t id = 1; ret == 0 && id <= local->image_count; id++)
		if (local->images[id - 1].records_of)
			stash_index_share(resolver->local_stash, id,
					  local->images[id - 1].records_of);
	return ret;
}

/* What this machine's files have of an image; NULL: nothing. The first call reads them. */
static const struct local_image *local_image(struct resolver *resolver, uint32_t image)
{
	if (resolver->options.stash_only)
		return NULL;
	if (!resolver->local_read) {
		resolver->local_read = true;
		if (read_local_files(resolver) < 0)
			resolver_add_note(resolver, "out of memory reading this machine's files");
	}
	return resolver->local_stash && image && image <= resolver->local.image_count
		       ? &resolver->local.images[image - 1]
		       : NULL;
}

struct stash_index *resolver_stash_for(struct resolver *resolver, uint32_t image, bool *local)
{
	*local = false;
	const struct local_image *found = NULL;
	if (!stash_has_image(resolver->stash, image) || resolver->spaces[image - 1] == SPACE_OFFSET)
		found = local_image(resolver, image);
	if (stash_has_image(resolver->stash, image) && !(found && found->found))
		return resolver->stash;
	*local = found != NULL;
	return found ? resolver->local_stash : NULL;
}

uint64_t resolver_vaddr(struct resolver *resolver, uint32_t image, uint64_t vaddr)
{
	bool local;
	if (image == 0 || resolver->spaces[image - 1] == SPACE_ELF)
		return vaddr;
	resolver_stash_for(resolver, image, &local);
	const struct local_image *found = local ? local_image(resolver, image) : NULL;
	/* what no part of the file holds must not look like another part */
	if (found && !local_image_translate(found, &vaddr))
		vaddr |= 1ull << 63;
	return vaddr;
}

const struct stash_index *resolver_stash(struct resolver *resolver, uint32_t image)
{
	bool local;
	return image && image <= resolver->image_count ? resolver_stash_for(resolver, image, &local)
						       : NULL;
}

uint16_t resolver_machine(struct resolver *resolver, uint32_t image)
{
	bool local;
	if (image == 0)
		return 0;
	resolver_stash_for(resolver, image, &local);
	const struct local_image *found = local ? local_image(resolver, image) : NULL;
	return found ? found->machine : 0;
}
