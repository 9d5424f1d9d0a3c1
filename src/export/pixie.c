#include "export/pixie.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>

#include "analyze/cycles/estimate_words.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "export/estimates.h"
#include "export/sink.h"

static void append_image(const struct estimates *estimates, uint32_t image, struct buffer *out)
{
	struct span build_id = { NULL, 0 };
	if (image)
		build_id = profile_image(estimates->input->profile, image).build_id;
	buffer_printf(out, "image %s", estimates->images.names[image]);
	if (build_id.size) {
		buffer_append_text(out, " build-id ");
		buffer_append_hex(out, build_id.data, build_id.size);
	}
	buffer_append_u8(out, '\n');
}

static int append_block(const struct procedure_cycles *procedure, uint32_t block,
			struct buffer *out)
{
	const struct cfg_block *extent = &procedure->cfg.blocks[block];
	const struct frequency *frequency = &procedure->frequencies.blocks[block];
	const double figures[] = { frequency->value, frequency->low, frequency->high };
	int ret = 0;
	buffer_printf(out, "0x%" PRIx64 " %" PRIu32,
		      procedure->cfg.instructions[extent->first].vaddr, extent->count);
	for (size_t i = 0; ret == 0 && i < 3; i++) {
		buffer_append_u8(out, ' ');
		ret = estimates_append_count(out, figures[i]);
	}
	buffer_printf(out, " %s\n",
		      isnan(frequency->value) ? "-"
					      : frequency_confidence_word(frequency->confidence));
	return ret;
}

static int append_procedure(const struct procedure_cycles *procedure, struct buffer *out)
{
	int ret = 0;
	buffer_printf(out, "procedure %s ", estimates_scale(procedure));
	estimates_append_text(out, span_of_text(procedure->procedure->procedure->name));
	buffer_append_u8(out, '\n');
	for (uint32_t b = 0; ret == 0 && b < procedure->cfg.graph.block_count; b++)
		ret = append_block(procedure, b, out);
	return ret;
}

static int write_procedures(const struct estimates *estimates, struct sink *sink, struct error *err)
{
	uint32_t image = UINT32_MAX;
	size_t unknown = 0;
	int ret = 0;
	for (size_t i = 0; ret == 0 && i < estimates->count; i++) {
		CLEANUP(procedure_cycles_freep) struct procedure_cycles *procedure = NULL;
		ret = estimates_procedure(estimates, i, &procedure, err);
		unknown += !procedure;
		if (ret < 0 || !procedure)
			continue;
		const struct procedure *of = procedure->procedure->procedure;
		if (of->image != image)
			append_image(estimates, of->image, &sink->buffer);
		image = of->image;
		if (append_procedure(procedure, &sink->buffer) < 0)
			return error_set(err, -EOVERFLOW,
					 "a block of '%s' ran more than 2^63 times", of->name);
		ret = sink_flush_some(sink);
	}
	if (unknown)
		buffer_printf(&sink->buffer,
			      "# procedures with samples but without known code: %zu\n", unknown);
	return ret;
}

static int write_pixie(const struct export_input *input, struct sink *sink,
		       struct export_sums *sums, struct error *err)
{
	CLEANUP(estimates_release) struct estimates estimates;
	int ret = estimates_init(&estimates, input, err);
	if (ret < 0)
		return ret;
	for (size_t i = 0; i < input->chosen_count; i++)
		sums[i] = (struct export_sums){ .has_stacks = false };
	buffer_append_text(&sink->buffer, "# culprit basic block counts 1\n");
	estimates_append_notes(&estimates, "# ", &sink->buffer);
	buffer_append_text(&sink->buffer, "# block instructions executions low high confidence\n");
	return write_procedures(&estimates, sink, err);
}

const struct exporter exporter_pixie = {
	.name = "pixie",
	.what = "executions of basic blocks, estimated, as text",
	.most_events = EXPORT_ANY_EVENTS,
	.of_code = true,
	.write = write_pixie,
};
