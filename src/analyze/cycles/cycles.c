#include "analyze/cycles/cycles.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/code/annotate.h"
#include "analyze/cycles/cycles_private.h"
#include "analyze/names/profile_isa.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "symbol/record.h"

void cycles_free(struct cycles *cycles)
{
	if (!cycles)
		return;
	for (size_t i = 0; i < cycles->image_count && cycles->images; i++)
		code_space_stash_free(cycles->images[i].stash);
	for (size_t i = 0; i < sizeof(cycles->decoders) / sizeof(cycles->decoders[0]); i++)
		decoder_free(cycles->decoders[i]);
	seen_branches_free(cycles->evidence);
	pipelines_free(cycles->pipelines);
	free(cycles->images);
	free(cycles->factors);
	free(cycles->extents);
	free(cycles);
}

void cycles_freep(struct cycles **cycles)
{
	cycles_free(*cycles);
}

/* The processor of the profile's first source; a note says if others differ. */
static int choose_pipeline(struct cycles *cycles, struct error *err)
{
	const struct profile *profile = cycles->index->profile;
	size_t sources = profile_table(profile, PROFILE_SOURCE)->count;
	if (cycles->options.pipeline) {
		cycles->choice = (struct pipeline_choice){
			.pipeline = pipelines_by_name(cycles->pipelines, cycles->options.pipeline),
			.fit = PIPELINE_FITS,
		};
		return cycles->choice.pipeline
			       ? 0
			       : error_set(err, -EINVAL, "no processor '%s' is described here",
					   cycles->options.pipeline);
	}
	struct profile_source first = { 0 };
	if (sources)
		first = profile_source(profile, 0);
	cycles->choice = pipelines_for(cycles->pipelines, first.cpu_vendor, first.cpu_model);
	memcpy(cycles->pipeline_note, cycles->choice.note, sizeof(cycles->pipeline_note));
	cycles_note(cycles, cycles->pipeline_note);
	for (size_t row = 1; row < sources; row++) {
		struct profile_source source = profile_source(profile, row);
		if (pipelines_for(cycles->pipelines, source.cpu_vendor, source.cpu_model)
			    .pipeline == cycles->choice.pipeline)
			continue;
		cycles_note(cycles, "the profile is of machines with different processors; cycles "
				    "are judged by the first one's");
		break;
	}
	return 0;
}

static int compare_extents(const void *left, const void *right)
{
	const struct cycles_extent *a = left, *b = right;
	if (a->image != b->image)
		return a->image < b->image ? -1 : 1;
	return (a->first > b->first) - (a->first < b->first);
}

static int index_extents(struct cycles *cycles)
{
	const struct annotate_index *index = cycles->index;
	cycles->extents = calloc(index->count + 1, sizeof(*cycles->extents));
	if (!cycles->extents)
		return -ENOMEM;
	for (size_t i = 0; i < index->count; i++) {
		const struct procedure *procedure = index->procedures[i].procedure;
		if (procedure->extent_known)
			cycles->extents[cycles->extent_count++] =
				(struct cycles_extent){ procedure->image, (uint32_t)i,
							procedure->first };
	}
	qsort(cycles->extents, cycles->extent_count, sizeof(*cycles->extents), compare_extents);
	return 0;
}

const struct annotate_procedure *cycles_procedure_at(const struct cycles *cycles, uint32_t image,
						     uint64_t first)
{
	const struct cycles_extent wanted = { image, 0, first };
	const struct cycles_extent *found = bsearch(&wanted, cycles->extents, cycles->extent_count,
						    sizeof(wanted), compare_extents);
	return found ? &cycles->index->procedures[found->position] : NULL;
}

int cycles_new(const struct annotate_index *index, const struct cycles_options *options,
	       struct cycles **out, struct error *err)
{
	CLEANUP(cycles_freep) struct cycles *cycles = calloc(1, sizeof(*cycles));
	if (!cycles)
		return error_set(err, -ENOMEM, "out of memory for the procedures' cycles");
	cycles->index = index;
	cycles->options = *options;
	cycles->chain_steps = CYCLES_CHAIN_STEPS;
	cycles->image_count = profile_table(index->profile, PROFILE_IMAGE)->count + 1;
	cycles->images = calloc(cycles->image_count, sizeof(*cycles->images));
	if (!cycles->images || index_extents(cycles) < 0)
		return error_set(err, -ENOMEM, "out of memory for the procedures' cycles");
	int ret = pipelines_new(&cycles->pipelines, err);
	if (ret == 0)
		ret = choose_pipeline(cycles, err);
	if (ret == 0)
		ret = cycles_choose_events(cycles, err);
	if (ret < 0)
		return ret;
	if (!options->no_evidence &&
	    seen_branches_new(index->profile, index->resolver, &cycles->evidence) < 0)
		return error_set(err, -ENOMEM, "out of memory for the branches that were seen");
	*out = cycles;
	cycles = NULL;
	return 0;
}

const struct cycles_events *cycles_events(const struct cycles *cycles)
{
	return &cycles->events;
}

const struct pipeline_choice *cycles_pipeline(const struct cycles *cycles)
{
	return &cycles->choice;
}

const struct annotate_index *cycles_index(const struct cycles *cycles)
{
	return cycles->index;
}

size_t cycles_notes(const struct cycles *cycles, const char *const **notes)
{
	*notes = cycles->notes;
	return cycles->note_count;
}

static enum isa isa_of_image(const struct cycles *cycles, uint32_t image)
{
	enum isa isa = cycles->options.isa;
	if (isa == ISA_UNKNOWN)
		isa = isa_of_elf_machine(resolver_machine(cycles->index->resolver, image));
	return isa == ISA_UNKNOWN ? profile_isa(cycles->index->profile) : isa;
}

static int open_image(struct cycles *cycles, uint32_t image, struct cycles_image *found)
{
	found->opened = true;
	found->isa = isa_of_image(cycles, image);
	const struct stash_index *stash = resolver_stash(cycles->index->resolver, image);
	if (!stash || found->isa == ISA_UNKNOWN)
		return 0;
	return code_space_stash_new(stash, image, found->isa, &found->stash);
}

const struct code_space *cycles_code(struct cycles *cycles, uint32_t image,
				     struct decoder **decoder, struct error *err, int *ret)
{
	*ret = -ENODATA;
	if (image == 0 || image >= cycles->image_count) {
		error_set(err, *ret, "it is known by name alone");
		return NULL;
	}
	struct cycles_image *found = &cycles->images[image];
	if (!found->opened && open_image(cycles, image, found) < 0) {
		found->opened = false;
		*ret = error_set(err, -ENOMEM, "out of memory for the code of an image");
		return NULL;
	}
	if (!found->stash) {
		error_set(err, *ret,
			  found->isa == ISA_UNKNOWN
				  ? "the instruction set of its machine is not known here"
				  : "its code is neither in the profile nor on this machine");
		return NULL;
	}
	*decoder = cycles->decoders[found->isa];
	if (!*decoder) {
		*ret = decoder_new(found->isa, ISA_SYNTAX_ATT, decoder, err);
		if (*ret < 0) {
			*ret = *ret == -ENOMEM ? *ret : -ENODATA;
			return NULL;
		}
		cycles->decoders[found->isa] = *decoder;
	}
	*ret = 0;
	return code_space_of_stash(found->stash);
}

size_t cycles_counted_at(struct cycles *cycles, size_t position)
{
	const struct procedure *procedure = cycles->index->procedures[position].procedure;
	struct decoder *decoder;
	struct code_function function;
	int ret;
	if (!procedure->extent_known || !(procedure->flags & FUNCTION_COLD))
		return position;
	const struct code_space *space =
		cycles_code(cycles, procedure->image, &decoder, NULL, &ret);
	if (!space || !space->function(space->context, procedure->first, &function) ||
	    !function.is_cold)
		return position;
	const struct annotate_procedure *parent =
		cycles_procedure_at(cycles, procedure->image, function.parent);
	return parent ? (size_t)(parent - cycles->index->procedures) : position;
}

bool cycles_is_counted_elsewhere(struct cycles *cycles, size_t position)
{
	return cycles_counted_at(cycles, position) != position;
}
