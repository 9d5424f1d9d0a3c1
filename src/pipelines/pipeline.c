#include "pipelines/pipeline.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/count_of.h"
#include "base/digits.h"
#include "base/error.h"
#include "pipeline_tables.h"

static const struct {
	const char *name, *text;
} tables[] = {
	{ "cortex-a53", table_cortex_a53 },
	{ "cortex-a55", table_cortex_a55 },
	{ "generic-in-order", table_generic_in_order },
	{ "generic-out-of-order", table_generic_out_of_order },
	{ "golden-cove", table_golden_cove },
	{ "neoverse-n1", table_neoverse_n1 },
	{ "neoverse-v2", table_neoverse_v2 },
	{ "skylake", table_skylake },
	{ "sunny-cove", table_sunny_cove },
	{ "zen3", table_zen3 },
	{ "zen4", table_zen4 },
	{ "zen5", table_zen5 },
};

struct pipelines {
	struct pipeline list[COUNT_OF(tables)];
};

const struct pipeline_work *pipeline_work_of(const struct pipeline *pipeline,
					     enum latency_class class, unsigned width_bits)
{
	unsigned row = class;
	bool narrow = width_bits > 0 && width_bits <= 32;
	if (class == LATENCY_DIVIDE && narrow)
		row = width_bits <= 16 ? PIPELINE_DIVIDE_16 : PIPELINE_DIVIDE_32;
	else if (class == LATENCY_FP_DIVIDE && narrow)
		row = PIPELINE_FP_DIVIDE_32;
	else if (class == LATENCY_FP_ROOT && narrow)
		row = PIPELINE_FP_ROOT_32;
	return &pipeline->work[row];
}

int pipelines_new(struct pipelines **out, struct error *err)
{
	struct pipelines *pipelines = malloc(sizeof(*pipelines));
	if (!pipelines)
		return error_set(err, -ENOMEM, "out of memory reading the machine tables");
	for (size_t i = 0; i < COUNT_OF(tables); i++) {
		int ret = pipeline_parse(span_of_text(tables[i].text), tables[i].name,
					 &pipelines->list[i], err);
		if (ret == 0 && strcmp(pipelines->list[i].name, tables[i].name) != 0)
			ret = error_set(err, -EBADMSG, "table '%s': its name is '%s'",
					tables[i].name, pipelines->list[i].name);
		if (ret < 0) {
			free(pipelines);
			return ret;
		}
	}
	*out = pipelines;
	return 0;
}

void pipelines_free(struct pipelines *pipelines)
{
	free(pipelines);
}

void pipelines_freep(struct pipelines **pipelines)
{
	pipelines_free(*pipelines);
}

size_t pipelines_count(const struct pipelines *pipelines)
{
	return COUNT_OF(pipelines->list);
}

const struct pipeline *pipelines_at(const struct pipelines *pipelines, size_t index)
{
	return &pipelines->list[index];
}

const struct pipeline *pipelines_by_name(const struct pipelines *pipelines, const char *name)
{
	for (size_t i = 0; i < COUNT_OF(pipelines->list); i++)
		if (strcmp(pipelines->list[i].name, name) == 0)
			return &pipelines->list[i];
	return NULL;
}

/* ---- the processor that cpu_vendor and cpu_model name */

static bool hexadecimal(struct span text, uint32_t *out)
{
	const char *at = text.data, *end = at + text.size;
	uint64_t value;
	if (!text.size || !digits_take(&at, end, 16, &value) || at != end || value > UINT32_MAX)
		return false;
	*out = (uint32_t)value;
	return true;
}

/* "MIDR 0x410fd034": implementer in bits 31-24, part in 15-4. */
static bool parse_midr(struct span text, struct pipeline_match *wanted)
{
	static const char prefix[] = "MIDR 0x";
	size_t skipped = strlen(prefix);
	uint32_t midr;
	if (!span_starts_with(text, prefix) ||
	    !hexadecimal((struct span){ (const char *)text.data + skipped, text.size - skipped },
			 &midr))
		return false;
	*wanted = (struct pipeline_match){ .arm = true,
					   .family = midr >> 24,
					   .first_model = midr >> 4 & 0xfff };
	return true;
}

/* "06-55-04": family, model and stepping of x86, as machine/cpu_model.h spells them. */
static bool parse_family(struct span vendor, struct span text, struct pipeline_match *wanted)
{
	*wanted = (struct pipeline_match){ .arm = false };
	const char *dash = text.size ? memchr(text.data, '-', text.size) : NULL;
	if (!dash || vendor.size >= sizeof(wanted->vendor))
		return false;
	struct span family = { text.data, (size_t)(dash - (const char *)text.data) };
	struct span model = { dash + 1, text.size - family.size - 1 };
	const char *next = model.size ? memchr(model.data, '-', model.size) : NULL;
	if (next)
		model.size = (size_t)(next - (const char *)model.data);
	if (vendor.size)
		memcpy(wanted->vendor, vendor.data, vendor.size);
	return hexadecimal(family, &wanted->family) && hexadecimal(model, &wanted->first_model);
}

static bool matches(const struct pipeline *pipeline, const struct pipeline_match *wanted)
{
	for (size_t i = 0; i < pipeline->match_count; i++) {
		const struct pipeline_match *row = &pipeline->matches[i];
		if (row->arm == wanted->arm && strcmp(row->vendor, wanted->vendor) == 0 &&
		    row->family == wanted->family && row->first_model <= wanted->first_model &&
		    wanted->first_model <= row->last_model)
			return true;
	}
	return false;
}

static const struct pipeline *find(const struct pipelines *pipelines,
				   const struct pipeline_match *wanted)
{
	for (size_t i = 0; i < COUNT_OF(pipelines->list); i++)
		if (matches(&pipelines->list[i], wanted))
			return &pipelines->list[i];
	return NULL;
}

/* Cuts the text of the next core type off the front of *text. */
static struct span next_type(struct span *text)
{
	static const char between[] = ", ";
	const char *start = text->data;
	const char *end = memmem(start, text->size, between, strlen(between));
	struct span type = { start, end ? (size_t)(end - start) : text->size };
	size_t skipped = type.size + (end ? strlen(between) : 0);
	*text = (struct span){ start + skipped, text->size - skipped };
	return type;
}

struct pipeline_choice pipelines_for(const struct pipelines *pipelines, struct span cpu_vendor,
				     struct span cpu_model)
{
	struct pipeline_choice choice = { .fit = PIPELINE_GUESSED };
	const struct pipeline *first = NULL;
	for (struct span rest = cpu_model; rest.size;) {
		struct pipeline_match wanted; /* without last_model */
		struct span type = next_type(&rest);
		bool known = parse_midr(type, &wanted) || parse_family(cpu_vendor, type, &wanted);
		const struct pipeline *found = known ? find(pipelines, &wanted) : NULL;
		if (type.data == cpu_model.data)
			first = found;
		else if (found != first)
			choice.mixed = true;
	}
	choice.pipeline = first ? first : pipelines_by_name(pipelines, "generic-out-of-order");
	if (first)
		choice.fit = first->generic ? PIPELINE_KIND_KNOWN : PIPELINE_FITS;

	int shown = cpu_model.size > 60 ? 60 : (int)cpu_model.size;
	const char *model = cpu_model.size ? cpu_model.data : "";
	if (choice.mixed)
		snprintf(
			choice.note, sizeof(choice.note),
			"the processor (%.*s) has core types that differ; '%s' describes the first "
			"alone",
			shown, model, choice.pipeline->name);
	else if (choice.fit == PIPELINE_KIND_KNOWN)
		snprintf(
			choice.note, sizeof(choice.note),
			"no machine table describes the processor (%.*s); '%s' stands in, which is "
			"right about the order of issue alone",
			shown, model, choice.pipeline->name);
	else if (choice.fit == PIPELINE_GUESSED)
		snprintf(choice.note, sizeof(choice.note),
			 "no machine table describes the processor (%.*s); '%s' stands in", shown,
			 cpu_model.size ? model : "unknown", choice.pipeline->name);
	if (choice.fit == PIPELINE_GUESSED && !cpu_model.size)
		snprintf(choice.note, sizeof(choice.note),
			 "the processor is not known; '%s' stands in", choice.pipeline->name);
	return choice;
}
