#include "analyze/culprits/summary.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/names/kernel_names.h"
#include "analyze/names/late_samples.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"

void summary_free(struct summary *summary)
{
	if (!summary)
		return;
	free(summary->worst);
	free(summary);
}

void summary_freep(struct summary **summary)
{
	summary_free(*summary);
}

double summary_static_cycles(const struct summary *summary)
{
	double sum = 0;
	for (enum static_cause cause = STATIC_NONE + 1; cause < STATIC_CAUSES; cause++)
		sum += summary->statics[cause];
	return sum;
}

double summary_dynamic_cycles(const struct summary *summary)
{
	return summary->dynamic_cycles + summary->unexplained_stall + summary->unexplained_gain;
}

double summary_tallied(const struct summary *summary)
{
	return summary->issue_cycles + summary_static_cycles(summary) +
	       summary_dynamic_cycles(summary) + summary->noise_cycles + summary->late_cycles +
	       summary->unknown_cycles;
}

struct work {
	struct cycles *cycles;
	const struct annotate_index *index;
	struct culprit_events events;
	size_t column;
	double divisor;
	struct late_samples *late; /* NULL: interrupts that are off do not delay samples of time */
	struct summary *summary;
	size_t worst_limit, worst_capacity;
};

/* --- the worst stalls: a heap, the least of them on top --- */

/* Among equals the one at the lower address is worse, so that the order does not depend on input.
 */
static bool is_worse(const struct summary_stall *a, const struct summary_stall *b)
{
	if (a->cycles != b->cycles)
		return a->cycles > b->cycles;
	if (a->position != b->position)
		return a->position < b->position;
	return a->vaddr < b->vaddr;
}

static int by_badness(const void *a, const void *b)
{
	return is_worse(a, b) ? -1 : 1;
}

static void swap(struct summary_stall *a, struct summary_stall *b)
{
	struct summary_stall kept = *a;
	*a = *b;
	*b = kept;
}

/* 0 or -ENOMEM. */
static int push_worst(struct work *work, const struct summary_stall *stall)
{
	struct summary *summary = work->summary;
	if (array_reserve(&summary->worst, &work->worst_capacity, summary->worst_count,
			  sizeof(*summary->worst)) < 0)
		return -ENOMEM;
	struct summary_stall *heap = summary->worst;
	size_t at = summary->worst_count++;
	heap[at] = *stall;
	for (; at && is_worse(&heap[(at - 1) / 2], &heap[at]); at = (at - 1) / 2)
		swap(&heap[at], &heap[(at - 1) / 2]);
	return 0;
}

static void replace_least(struct summary *summary, const struct summary_stall *stall)
{
	struct summary_stall *heap = summary->worst;
	size_t count = summary->worst_count;
	heap[0] = *stall;
	for (size_t at = 0;;) {
		size_t least = at;
		for (size_t child = 2 * at + 1; child < 2 * at + 3 && child < count; child++)
			if (is_worse(&heap[least], &heap[child]))
				least = child;
		if (least == at)
			return;
		swap(&heap[at], &heap[least]);
		at = least;
	}
}

/* 0 or -ENOMEM. */
static int keep_worst(struct work *work, const struct summary_stall *stall)
{
	struct summary *summary = work->summary;
	if (summary->worst_count < work->worst_limit)
		return push_worst(work, stall);
	if (summary->worst_count && is_worse(stall, &summary->worst[0]))
		replace_least(summary, stall);
	return 0;
}

/* --- code and source of the worst stalls --- */

static const struct procedure *part_with(const struct work *work, const struct summary_stall *stall)
{
	const struct procedure *whole = work->index->procedures[stall->position].procedure;
	if (stall->vaddr >= whole->first && stall->vaddr <= whole->last)
		return whole;
	return resolver_cold(work->index->resolver, whole);
}

static void describe_code(const struct work *work, struct decoder *decoder,
			  struct summary_stall *stall)
{
	const struct procedure *part = part_with(work, stall);
	uint64_t first = 0;
	struct instruction decoded;
	if (!part)
		return;
	struct span bytes = resolver_code(work->index->resolver, part, &first);
	if (!bytes.size || stall->vaddr < first || stall->vaddr - first >= bytes.size)
		return;
	struct span rest = { bytes.data + (stall->vaddr - first),
			     bytes.size - (stall->vaddr - first) };
	decoder_decode(decoder, rest, stall->vaddr, &decoded);
	char text[INSTRUCTION_MNEMONIC_BYTES + INSTRUCTION_OPERANDS_BYTES + 1];
	int length = snprintf(text, sizeof(text), "%s%s%s", decoded.mnemonic,
			      decoded.operands[0] ? " " : "", decoded.operands);
	size_t kept =
		(size_t)length < sizeof(stall->code) ? (size_t)length : sizeof(stall->code) - 1;
	memcpy(stall->code, text, kept);
	stall->code[kept] = '\0';
}

/* What cannot be found stays unknown. */
static void describe(const struct work *work, struct summary_stall *stall)
{
	const struct procedure *procedure = work->index->procedures[stall->position].procedure;
	struct decoder *decoder = NULL;
	if (decoder_new(stall->isa, ISA_SYNTAX_ATT, &decoder, NULL) == 0)
		describe_code(work, decoder, stall);
	decoder_free(decoder);
	const struct source_frame *frames = NULL;
	const struct place *place =
		resolver_place_in_file(work->index->resolver, procedure->image, stall->vaddr);
	if (place && resolver_source(work->index->resolver, place, &frames)) {
		stall->file = frames[0].file;
		stall->line = frames[0].line;
	}
}

/* --- adding up --- */

/* Adds bounds of causes, also where a stall is only possible. */
static void add_bounds(struct summary *summary, const struct culprits *culprits,
		       const struct stall *stall)
{
	for (uint32_t c = 0; c < stall->culprit_count; c++) {
		const struct culprit *culprit = &culprits->list[stall->culprits + c];
		summary->dynamics[culprit->cause].low += culprit->low;
		summary->dynamics[culprit->cause].high += culprit->high;
	}
}

static int add_stall(struct work *work, uint32_t position, const struct culprits *culprits,
		     uint32_t instruction)
{
	struct summary *summary = work->summary;
	const struct cfg_instruction *code = culprits->procedure->cfg.instructions;
	const struct stall *stall = &culprits->stalls[instruction];
	struct summary_stall listed = {
		.position = position,
		.vaddr = code[instruction].vaddr,
		.isa = culprits->procedure->isa,
		.cycles = stall->dynamic_cycles,
		.low = stall->dynamic_low,
		.high = stall->dynamic_high,
		.executed = culprits->procedure->instructions[instruction].executed,
		.unexplained_cycles = stall->unexplained_cycles,
		.culprit_count = stall->culprit_count,
	};
	for (uint32_t c = 0; c < stall->culprit_count; c++) {
		const struct culprit *culprit = &culprits->list[stall->culprits + c];
		listed.culprits[c] = (struct summary_culprit){
			.cause = culprit->cause,
			.vaddr = culprit->instruction == CULPRIT_NO_INSTRUCTION
					 ? 0
					 : code[culprit->instruction].vaddr,
			.low = culprit->low,
			.high = culprit->high,
		};
	}
	summary->dynamic_cycles += stall->dynamic_cycles - stall->unexplained_cycles;
	summary->unexplained_stall += stall->unexplained_cycles;
	summary->stalls += stall->dynamic_cycles;
	summary->causes += stall->dynamic_cycles * stall->culprit_count;
	return keep_worst(work, &listed);
}

/* 0 or -ENOMEM. */
static int add_culprits(struct work *work, uint32_t position, const struct culprits *culprits)
{
	struct summary *summary = work->summary;
	const struct procedure_cycles *procedure = culprits->procedure;
	for (uint32_t i = 0; i < procedure->cfg.instruction_count; i++) {
		const struct stall *stall = &culprits->stalls[i];
		if (isnan(stall->issue_cycles)) {
			summary->unknown_cycles += procedure->instructions[i].cycles;
			continue;
		}
		summary->issue_cycles += stall->issue_cycles;
		summary->statics[stall->static_cause] += stall->static_cycles;
		summary->noise_cycles += stall->noise_cycles;
		add_bounds(summary, culprits, stall);
		if (!(stall->dynamic_cycles > 0))
			summary->unexplained_gain += stall->dynamic_cycles;
		else if (add_stall(work, position, culprits, i) < 0)
			return -ENOMEM;
	}
	summary->unknown_cycles += procedure->elsewhere_cycles;
	return 0;
}

static double cycles_in(const struct work *work, const struct annotate_procedure *procedure)
{
	return (double)procedure->cells[work->column].estimate / work->divisor;
}

static int add_code(struct work *work, uint32_t position, struct error *err)
{
	struct summary *summary = work->summary;
	const struct annotate_procedure *annotated = &work->index->procedures[position];
	CLEANUP(procedure_cycles_freep) struct procedure_cycles *procedure = NULL;
	CLEANUP(culprits_freep) struct culprits *culprits = NULL;
	int ret = cycles_of_procedure(work->cycles, position, &procedure, err);
	if (ret == -ENODATA) {
		summary->unknown_cycles += cycles_in(work, annotated);
		summary->unknown_procedures++;
		return 0;
	}
	if (ret == 0)
		ret = culprits_new(procedure, work->index->columns, &work->events, &culprits, err);
	if (ret < 0)
		return ret;
	summary->procedures++;
	summary->relative_procedures += procedure->scale == CYCLES_RELATIVE;
	summary->unknown_procedures += !culprits->known;
	/* Cycles outside of the graph are unknown. */
	double inside = cycles_in(work, annotated) +
			(procedure->cold ? cycles_in(work, procedure->cold) : 0);
	summary->total += procedure->cold ? cycles_in(work, procedure->cold) : 0;
	summary->samples +=
		procedure->cold ? (double)procedure->cold->cells[work->column].samples : 0;
	summary->unknown_cycles += inside - procedure->whole.cycles - procedure->elsewhere_cycles;
	if (add_culprits(work, position, culprits) < 0)
		return error_set(err, -ENOMEM, "out of memory for a summary");
	return 0;
}

static bool is_kernel(const struct work *work, const struct procedure *procedure)
{
	if (!procedure->image || !procedure->named)
		return false;
	uint64_t kind = profile_image(work->index->profile, procedure->image).kind;
	return kind == IMAGE_KERNEL || kind == IMAGE_MODULE;
}

/*
 * Where most samples of a procedure waited until interrupts were enabled again, they are late
 * cycles and the rest is unknown. False: the procedure is to be explained like any other.
 */
static bool add_late(struct work *work, const struct annotate_procedure *annotated)
{
	double late = 0, cycles = cycles_in(work, annotated);
	for (size_t i = 0; work->late && i < annotated->sample_count; i++) {
		const struct annotate_sample *sample = &annotated->samples[i];
		if (sample->column == work->column &&
		    late_samples_at(work->late, annotated->procedure, sample->vaddr))
			late += (double)sample->cell.estimate / work->divisor;
	}
	if (late <= 0 || late < cycles - late)
		return false;
	work->summary->late_cycles += late;
	work->summary->unknown_cycles += cycles - late;
	return true;
}

static int add_procedure(struct work *work, uint32_t position, struct error *err)
{
	struct summary *summary = work->summary;
	const struct annotate_procedure *annotated = &work->index->procedures[position];
	double cycles = cycles_in(work, annotated);
	if (is_kernel(work, annotated->procedure) &&
	    kernel_name_is_idle(annotated->procedure->linkage)) {
		summary->idle_cycles += cycles;
		return 0;
	}
	if (cycles_is_counted_elsewhere(work->cycles, position))
		return 0;
	summary->total += cycles;
	summary->samples += (double)annotated->cells[work->column].samples;
	if (add_late(work, annotated))
		return 0;
	/* It may have samples of other events alone. */
	if (cycles <= 0)
		return 0;
	return add_code(work, position, err);
}

int summary_new(struct cycles *cycles, const uint32_t *positions, size_t count,
		const struct summary_options *options, struct summary **out, struct error *err)
{
	const struct annotate_index *index = cycles_index(cycles);
	size_t column = cycles_events(cycles)->time;
	if (column == CYCLES_NO_COLUMN)
		return error_set(err, -ENODATA,
				 "no event of the profile says where time went; record cycles or "
				 "cpu-clock");
	CLEANUP(summary_freep) struct summary *summary = calloc(1, sizeof(*summary));
	CLEANUP(late_samples_freep) struct late_samples *late = NULL;
	if (!summary)
		return error_set(err, -ENOMEM, "out of memory for a summary");
	int ret = late_samples_new(index->profile, index->resolver, &late, err);
	if (ret < 0)
		return ret;
	struct work work = {
		.cycles = cycles,
		.index = index,
		.events = culprit_events_of(index->columns),
		.column = column,
		.divisor = event_column_divisor(&index->columns->list[column]),
		.late = late_samples_can_be(late, &index->columns->list[column]) ? late : NULL,
		.summary = summary,
		.worst_limit = options->worst,
	};
	summary->whole_profile = (double)index->whole[column].estimate / work.divisor;
	for (size_t i = 0; i < count; i++) {
		ret = add_procedure(&work, positions[i], err);
		if (ret < 0)
			return ret;
	}
	for (size_t i = 0; i < summary->worst_count; i++)
		describe(&work, &summary->worst[i]);
	if (summary->worst_count)
		qsort(summary->worst, summary->worst_count, sizeof(*summary->worst), by_badness);
	*out = summary;
	summary = NULL;
	return 0;
}
