/*
 * Code and samples of a stranger's profile, through all that estimates executions and
 * cycles, accuses culprits, and shows them in listings, pictures and files. Byte 0: the instruction
 * set (2 bits), the processor (3), the events (3); 1 and 2: where the cold part starts and ends, in
 * 256ths of the code; 3: how many samples, two bytes each (place, count); the rest is code.
 */
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/code/annotate.h"
#include "analyze/cycles/cfg_view.h"
#include "analyze/culprits/culprits.h"
#include "analyze/cycles/cycles.h"
#include "analyze/cycles/cycles_lines.h"
#include "analyze/culprits/summary.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/count_of.h"
#include "export/exporter.h"
#include "export/sink.h"
#include "profile/stash.h"
#include "render/cfg_svg.h"
#include "render/listing.h"
#include "render/listing_json.h"
#include "render/summary_json.h"
#include "render/summary_text.h"

#define FIRST  0x1000u
#define PERIOD 1000u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int ret)
{
	if (ret < 0)
		abort();
}

static void add_record(struct profile *profile, uint32_t image, uint64_t kind, uint64_t first,
		       uint64_t last, struct buffer *content)
{
	const struct record record = { kind, first, last, { content->data, content->size } };
	must(stash_add(profile, image, &record, NULL));
	buffer_release(content);
}

static void add_function(struct profile *profile, uint32_t image, uint64_t first, uint64_t last,
			 bool cold)
{
	struct buffer content = { 0 };
	const struct function_record function = {
		.flags = FUNCTION_UNNAMED | (cold ? FUNCTION_COLD : 0), .parent = cold ? FIRST : 0
	};
	record_put_function(&content, first, &function);
	add_record(profile, image, RECORD_FUNCTION, first, last, &content);
}

/* The hot part, the cold one, and what is left: another function. */
static void add_code(struct profile *profile, uint32_t image, const uint8_t *data, struct span code)
{
	uint64_t cold = code.size * data[1] / 256, end = code.size * data[2] / 256;
	struct buffer content = { 0 };
	record_put_code(&content, code);
	add_record(profile, image, RECORD_CODE, FIRST, FIRST + code.size - 1, &content);
	if (cold == 0 || cold >= end) {
		add_function(profile, image, FIRST, FIRST + code.size - 1, false);
		return;
	}
	add_function(profile, image, FIRST, FIRST + cold - 1, false);
	add_function(profile, image, FIRST + cold, FIRST + end - 1, true);
	if (end < code.size)
		add_function(profile, image, FIRST + end, FIRST + code.size - 1, false);
}

static size_t add_events(struct profile *profile, unsigned kinds, uint32_t *events)
{
	const struct profile_event cycles = { .name = { "cycles", 6 },
					      .unit = { "cycles", 6 },
					      .policy = PERIOD_FIXED,
					      .period = PERIOD,
					      .skid = kinds,
					      .sampled = 1 };
	const struct profile_event clock = { .name = { "cpu-clock", 9 },
					     .unit = { "ns", 2 },
					     .clock = EVENT_CLOCK,
					     .policy = PERIOD_FIXED,
					     .period = PERIOD,
					     .sampled = 1 };
	struct profile_event instructions = { .name = { "instructions", 12 },
					      .unit = { "instructions", 12 },
					      .sampled = 1 };
	size_t count = 0;
	if (kinds & 4) { /* read with the samples of cycles */
		instructions.sampled = 0;
		instructions.leader = cycles.name;
	}
	if (kinds != 2)
		must(profile_add_event(profile, kinds & 1 ? &clock : &cycles, &events[count++]));
	if (kinds & 6)
		must(profile_add_event(profile, &instructions, &events[count++]));
	return count;
}

static struct profile *profile_of(const uint8_t *data, size_t size)
{
	static const char *const machines[] = { "x86_64", "aarch64", "i686", "x86_64" };
	size_t samples = data[3], head = 4 + 2 * samples;
	uint32_t events[2], image;
	struct span code = { (const char *)data + head, size - head };
	struct profile *profile = profile_new();
	const struct profile_source source = { .machine = span_of_text(machines[data[0] & 3]) };
	const struct profile_image file = { .kind = IMAGE_FILE, .build_id = { "\x01\x02", 2 } };
	if (!profile)
		abort();
	must(profile_add_source(profile, &source));
	must(profile_add_image(profile, &file, &image));
	add_code(profile, image, data, code);
	size_t event_count = add_events(profile, data[0] >> 5, events);
	for (size_t i = 0; i < samples; i++) {
		uint64_t count = data[4 + 2 * i + 1];
		const struct profile_frame leaf = {
			.image = image, .vaddr = FIRST + code.size * data[4 + 2 * i] / 256
		};
		const struct cell cell = { count, count * PERIOD,
					   (unsigned __int128)count * PERIOD * PERIOD };
		must(profile_add_flat(profile, events[i % event_count], 0, &leaf, &cell));
	}
	return profile;
}

/* No sample is lost, none is negative, and sums are sums. */
static void check(const struct procedure_cycles *found)
{
	double at = 0, charged = 0;
	if (!found->samples)
		return;
	for (uint32_t i = 0; i < found->cfg.instruction_count; i++) {
		at += found->samples[i];
		charged += found->instructions[i].samples;
		if (!(found->instructions[i].samples >= 0))
			abort();
	}
	if (fabs(at - charged) > 1e-6 * at || fabs(at - found->whole.samples) > 1e-6 * at)
		abort();
	for (uint32_t l = 0; l < found->loops.count; l++)
		if (found->loop_costs[l].samples > found->whole.samples * (1 + 1e-6))
			abort();
}

/* Lines have all samples, wherever these are charged to. */
static void check_lines(const struct procedure_cycles *found, struct annotation *annotation)
{
	size_t columns = cycles_index(found->cycles)->columns->count;
	must(cycles_charge_lines(found, annotation));
	for (size_t c = 0; c < columns; c++) {
		struct cell rows = { 0 }, lines = { 0 };
		for (size_t i = 0; i < annotation->row_count; i++)
			cell_add(&rows, &annotation->rows[i].cells[c]);
		for (size_t i = 0; i < annotation->line_count; i++)
			cell_add(&lines, &annotation->lines[i].cells[c]);
		if (memcmp(&rows, &lines, sizeof(rows)) != 0)
			abort();
	}
}

/* Every way to show it, in texts without control characters. */
static void show(const struct procedure_cycles *found, size_t position)
{
	const struct annotate_index *index = cycles_index(found->cycles);
	const struct culprit_events events = culprit_events_of(index->columns);
	const struct annotate_options options = { .isa = found->isa };
	const struct listing_options plain = { 0 };
	CLEANUP(annotation_freep) struct annotation *annotation = NULL;
	CLEANUP(culprits_freep) struct culprits *culprits = NULL;
	CLEANUP(free_pointer) struct cycles_cost *lines = NULL;
	CLEANUP(buffer_release) struct buffer out = { 0 };
	must(annotate(index, position, &options, &annotation, NULL));
	check_lines(found, annotation);
	must(cycles_of_lines(found, annotation, &lines));
	must(culprits_new(found, index->columns, &events, &culprits, NULL));
	const struct listing_subject subject = {
		.annotation = annotation, .cycles = found, .culprits = culprits, .lines = lines
	};
	const struct listing_subject *const all[] = { &subject };
	listing_print(&subject, index, &plain, &out);
	listing_print_lines(&subject, index, &plain, &out);
	listing_print_screen(&subject, index, &plain, &out);
	listing_print_blocks(&subject, index, &plain, &out);
	listing_print_foot(found->cycles, 1U << found->scale, &out);
	listing_json_print(all, 1, index, found->cycles, NULL, 0, &out);
	must(buffer_failed(&out) ? -1 : 0);
	for (size_t i = 0; i < out.size; i++)
		if (out.data[i] < 0x20 && out.data[i] != '\n')
			abort();
}

static void draw(const struct procedure_cycles *found, struct resolver *resolver, size_t limit)
{
	CLEANUP(cfg_view_release) struct cfg_view view = { 0 };
	CLEANUP(buffer_release) struct buffer page = { 0 };
	must(cfg_view_init(&view, found, resolver, ISA_SYNTAX_ATT, limit, NULL));
	const struct cfg_picture picture = { .view = &view,
					     .colour = cfg_default_colour(found),
					     .source = "fuzz",
					     .event = "cycles",
					     .instructions = 3 };
	cfg_svg(&picture, &page);
	cfg_json(&picture, &page);
	cfg_dot(&picture, &page);
	if (buffer_failed(&page))
		abort();
}

static int drop(void *context, const void *bytes, size_t size)
{
	(void)context;
	(void)bytes;
	(void)size;
	return 0;
}

/* Each may refuse what is too large, and nothing else. */
static void export(const struct profile *profile, struct resolver *resolver,
		   const struct event_columns *columns)
{
	static const char *const formats[] = { "callgrind", "pixie" };
	const struct export_input input = { .profile = profile,
					    .resolver = resolver,
					    .columns = columns };
	for (size_t i = 0; i < COUNT_OF(formats); i++) {
		CLEANUP(sink_release) struct sink sink;
		struct export_sums sums;
		sink_init(&sink, drop, NULL);
		int ret = exporter_named(formats[i])->write(&input, &sink, &sums, NULL);
		if (ret < 0 && ret != -EOVERFLOW)
			abort();
		must(sink_finish(&sink));
	}
}

static void take_all(struct cycles *cycles, size_t limit)
{
	for (size_t i = 0; i < cycles_index(cycles)->count; i++) {
		CLEANUP(procedure_cycles_freep) struct procedure_cycles *found = NULL;
		cycles_is_counted_elsewhere(cycles, i);
		if (cycles_of_procedure(cycles, i, &found, NULL) < 0)
			continue;
		check(found);
		show(found, i);
		draw(found, cycles_index(cycles)->resolver, limit);
	}
}

/* All procedures together: the rows are the whole, and the page is plain text. */
static void sum_up(struct cycles *cycles)
{
	size_t count = cycles_index(cycles)->count;
	const struct summary_options options = { .worst = 3 };
	const struct summary_text_options look = { .title = "fuzz" };
	CLEANUP(free_pointer) uint32_t *positions = calloc(count + 1, sizeof(*positions));
	CLEANUP(summary_freep) struct summary *summary = NULL;
	CLEANUP(buffer_release) struct buffer out = { 0 };
	must(positions ? 0 : -ENOMEM);
	for (size_t i = 0; i < count; i++)
		positions[i] = (uint32_t)i;
	if (summary_new(cycles, positions, count, &options, &summary, NULL) < 0)
		return;
	must(fabs(summary_tallied(summary) - summary->total) <= 1e-6 * (1 + summary->total) ? 0
											    : -1);
	summary_text(summary, cycles, &look, &out);
	summary_json(summary, cycles, NULL, 0, &out);
	must(buffer_failed(&out) ? -1 : 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const pipelines[] = { NULL,	    "generic-in-order", "cortex-a53",
						 "zen5",    "golden-cove",	"neoverse-v2",
						 "skylake", "cortex-a55" };
	static const struct resolver_options stash_only = { .stash_only = true };
	if (size < 5 || size <= 4 + 2 * (size_t)data[3] || size > 4096)
		return 0;
	CLEANUP(profile_freep) struct profile *profile = profile_of(data, size);
	CLEANUP(resolver_freep) struct resolver *resolver = NULL;
	CLEANUP(event_columns_release) struct event_columns columns = { 0 };
	CLEANUP(annotate_index_freep) struct annotate_index *index = NULL;
	CLEANUP(cycles_freep) struct cycles *cycles = NULL;
	const struct cycles_options options = { .pipeline = pipelines[(data[0] >> 2) & 7] };
	must(resolver_new(profile, &stash_only, &resolver, NULL));
	must(event_columns_init(&columns, profile, NULL, 0, NULL));
	must(annotate_index_new(profile, resolver, &columns, &index, NULL));
	if (cycles_new(index, &options, &cycles, NULL) == 0) {
		take_all(cycles, data[3] % 8);
		sum_up(cycles);
		export(profile, resolver, &columns);
	}
	return 0;
}
