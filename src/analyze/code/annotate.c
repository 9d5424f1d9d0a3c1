#include "analyze/code/annotate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/code/annotate_lines.h"
#include "analyze/names/late_samples.h"
#include "analyze/names/profile_isa.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/sum.h"

struct builder {
	struct annotation *annotation;
	const struct annotate_index *index;
	const struct annotate_procedure *procedure;
	struct decoder *decoder; /* NULL without code */
	struct span code;
	uint64_t code_vaddr;
	size_t row_capacity;
	size_t next_sample;
	/* the last target that was looked up: calls repeat */
	uint64_t last_target;
	const struct place *last_place;
};

static struct annotated_row *new_row(struct builder *builder, enum annotated_kind kind,
				     uint64_t vaddr)
{
	struct annotation *annotation = builder->annotation;
	if (array_reserve(&annotation->rows, &builder->row_capacity, annotation->row_count,
			  sizeof(*annotation->rows)) < 0)
		return NULL;
	struct annotated_row *row = &annotation->rows[annotation->row_count++];
	*row = (struct annotated_row){ .kind = kind,
				       .vaddr = vaddr,
				       .source = ANNOTATED_NO_SOURCE };
	return row;
}

/* Says where a branch goes: to a place in this procedure, or to another one. 0 or -ENOMEM. */
static int name_target(struct builder *builder, const struct instruction *instruction,
		       struct annotated_row *row)
{
	const struct procedure *here = builder->procedure->procedure;
	row->has_target = true;
	row->target = instruction->target;
	if (here->extent_known && row->target >= here->first && row->target <= here->last) {
		row->target_here = true;
		row->target_offset_bytes = row->target - here->first;
		return 0;
	}
	if (!builder->last_place || builder->last_target != row->target) {
		builder->last_place =
			resolver_place_in_file(builder->index->resolver, here->image, row->target);
		builder->last_target = row->target;
		if (!builder->last_place)
			return -ENOMEM;
	}
	const struct procedure *there = builder->last_place->procedure;
	if (!there->named) {
		row->target_name =
			resolver_callee(builder->index->resolver, here->image, row->target);
		return 0;
	}
	row->target_name = there->name;
	row->target_offset_bytes = there->extent_known ? row->target - there->first : 0;
	return 0;
}

static int add_instruction(struct builder *builder, const struct instruction *instruction)
{
	struct arena *arena = &builder->annotation->arena;
	struct annotated_row *row = new_row(builder, ANNOTATED_INSTRUCTION, instruction->vaddr);
	if (!row)
		return -ENOMEM;
	row->length_bytes = instruction->length_bytes;
	row->instruction = instruction->kind;
	row->bytes =
		(const uint8_t *)builder->code.data + (instruction->vaddr - builder->code_vaddr);
	row->mnemonic =
		arena_copy_text(arena, instruction->mnemonic, strlen(instruction->mnemonic));
	row->operands =
		arena_copy_text(arena, instruction->operands, strlen(instruction->operands));
	row->has_reference = instruction->has_reference;
	row->reference = instruction->reference;
	builder->annotation->instructions++;
	if (!row->mnemonic || !row->operands)
		return -ENOMEM;
	return instruction->has_target ? name_target(builder, instruction, row) : 0;
}

/* Adds rows for sampled addresses below `end` (UINT64_MAX: for all that are left) that have none.
 */
static int add_addresses(struct builder *builder, enum annotated_kind kind, uint64_t end)
{
	const struct annotate_procedure *procedure = builder->procedure;
	for (; builder->next_sample < procedure->sample_count; builder->next_sample++) {
		uint64_t vaddr = procedure->samples[builder->next_sample].vaddr;
		if (vaddr >= end && end != UINT64_MAX)
			return 0;
		size_t count = builder->annotation->row_count;
		if (count && builder->annotation->rows[count - 1].vaddr == vaddr)
			continue;
		if (!new_row(builder, kind, vaddr))
			return -ENOMEM;
	}
	return 0;
}

static int decode_all(struct builder *builder)
{
	const uint8_t *bytes = builder->code.data;
	uint64_t vaddr = builder->code_vaddr;
	int ret = add_addresses(builder, ANNOTATED_ADDRESS, vaddr);
	for (size_t at = 0; at < builder->code.size && ret == 0;) {
		struct instruction instruction;
		decoder_decode(builder->decoder,
			       (struct span){ bytes + at, builder->code.size - at }, vaddr + at,
			       &instruction);
		ret = add_instruction(builder, &instruction);
		at += instruction.length_bytes;
		if (ret == 0)
			ret = add_addresses(builder, ANNOTATED_INSIDE, vaddr + at);
	}
	return ret;
}

static const char *why_no_code(const struct builder *builder)
{
	const struct procedure *procedure = builder->procedure->procedure;
	if (!procedure->image)
		return "it is known by name alone, as imported text tells it";
	struct profile_image image = profile_image(builder->index->profile, procedure->image);
	switch (image.kind) {
	case IMAGE_UNKNOWN:
		return "the image that these addresses belong to is unknown";
	case IMAGE_NAME:
		return "its image is known by name alone, as imported text tells it";
	case IMAGE_JIT:
		return "the profile has no code of this compiled-at-run-time function";
	case IMAGE_KERNEL:
	case IMAGE_MODULE:
	case IMAGE_BPF:
		return "the profile has no code of this kernel procedure, and this machine's "
		       "kernel is not asked: it may be another one";
	}
	if (!procedure->extent_known)
		return "neither the profile nor a file here says which procedure holds these "
		       "addresses";
	return "the profile has no code of it, and no file here has its build-id";
}

static int open_code(struct builder *builder, const struct annotate_options *options,
		     struct error *err)
{
	struct annotation *annotation = builder->annotation;
	builder->code = resolver_code(builder->index->resolver, builder->procedure->procedure,
				      &builder->code_vaddr);
	if (builder->code.size == 0) {
		annotation->no_code = why_no_code(builder);
		return 0;
	}
	annotation->isa = options->isa;
	if (annotation->isa == ISA_UNKNOWN) /* that of the file, where it is here */
		annotation->isa = isa_of_elf_machine(resolver_machine(
			builder->index->resolver, builder->procedure->procedure->image));
	if (annotation->isa == ISA_UNKNOWN)
		annotation->isa = profile_isa(builder->index->profile);
	if (annotation->isa == ISA_UNKNOWN) {
		annotation->no_code = "the instruction set of its machine is not known here; "
				      "--isa says it";
		builder->code.size = 0;
		return 0;
	}
	int ret = decoder_new(annotation->isa, options->syntax, &builder->decoder, err);
	if (ret != -ENOTSUP)
		return ret;
	annotation->no_code = "this build can't decode its instruction set";
	builder->code.size = 0;
	return 0;
}

/* Gives each row its samples; rows and samples are both by address. */
static int fill_cells(struct builder *builder)
{
	struct annotation *annotation = builder->annotation;
	const struct annotate_procedure *procedure = builder->procedure;
	size_t columns = builder->index->columns->count;
	annotation->cells = calloc(annotation->row_count * columns + 1, sizeof(struct cell));
	if (!annotation->cells)
		return -ENOMEM;
	size_t sample = 0;
	for (size_t i = 0; i < annotation->row_count; i++) {
		struct annotated_row *row = &annotation->rows[i];
		row->cells = annotation->cells + i * columns;
		for (; sample < procedure->sample_count &&
		       procedure->samples[sample].vaddr == row->vaddr;
		     sample++)
			cell_add(&row->cells[procedure->samples[sample].column],
				 &procedure->samples[sample].cell);
	}
	return sample == procedure->sample_count ? 0 : -EPROTO;
}

/* Sets late_samples and late_of (names/late_samples.h). 0 or -ENOMEM. */
static int count_late(struct builder *builder, struct error *err)
{
	const struct annotate_index *index = builder->index;
	const struct annotate_procedure *procedure = builder->procedure;
	CLEANUP(late_samples_freep) struct late_samples *late = NULL;
	int ret = late_samples_new(index->profile, index->resolver, &late, err);
	for (size_t i = 0; ret == 0 && i < procedure->sample_count; i++) {
		const struct annotate_sample *sample = &procedure->samples[i];
		if (!late_samples_can_be(late, &index->columns->list[sample->column]))
			continue;
		sum_add(&builder->annotation->late_of, sample->cell.samples);
		if (late_samples_at(late, procedure->procedure, sample->vaddr))
			sum_add(&builder->annotation->late_samples, sample->cell.samples);
	}
	return ret;
}

static int build(struct builder *builder, const struct annotate_options *options, struct error *err)
{
	struct annotation *annotation = builder->annotation;
	const struct procedure *procedure = builder->procedure->procedure;
	int ret = open_code(builder, options, err);
	if (ret == 0)
		ret = count_late(builder, err);
	if (ret < 0)
		return ret;
	if (builder->decoder)
		ret = decode_all(builder);
	/* what lies behind the code, or all of it without code */
	enum annotated_kind kind = procedure->image ? ANNOTATED_ADDRESS : ANNOTATED_NAME;
	if (ret == 0)
		ret = add_addresses(builder, kind, UINT64_MAX);
	if (ret == 0)
		ret = fill_cells(builder);
	if (ret == 0)
		ret = annotate_add_sources(annotation, builder->index->resolver);
	if (ret == 0)
		ret = annotate_add_lines(annotation, builder->index->columns->count);
	annotation->cold = resolver_cold(builder->index->resolver, procedure);
	return ret < 0 ? error_set(err, ret, "out of memory annotating '%s'", procedure->name) : 0;
}

int annotate(const struct annotate_index *index, size_t position,
	     const struct annotate_options *options, struct annotation **out, struct error *err)
{
	CLEANUP(annotation_freep) struct annotation *annotation = calloc(1, sizeof(*annotation));
	if (!annotation)
		return error_set(err, -ENOMEM, "out of memory for an annotation");
	annotation->procedure = &index->procedures[position];
	struct builder builder = { .annotation = annotation,
				   .index = index,
				   .procedure = &index->procedures[position] };
	int ret = build(&builder, options, err);
	decoder_free(builder.decoder);
	if (ret < 0)
		return ret;
	*out = annotation;
	annotation = NULL; /* the caller's from here on */
	return 0;
}
