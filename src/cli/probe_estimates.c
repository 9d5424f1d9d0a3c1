#include "cli/probe_estimates.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyze/cycles/estimate_words.h"
#include "analyze/accuracy/execution_estimate.h"
#include "analyze/names/resolve.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "cli/message.h"
#include "collect/breakpoints.h"

struct probe_estimates {
	struct input input;
	struct resolver *resolver;
	struct event_columns columns;
	struct annotate_index *index;
	struct cycles *cycles;
	double runs;
};

void probe_estimates_free(struct probe_estimates *estimates)
{
	if (!estimates)
		return;
	cycles_free(estimates->cycles);
	annotate_index_free(estimates->index);
	event_columns_release(&estimates->columns);
	resolver_free(estimates->resolver);
	input_release(&estimates->input);
	free(estimates);
}

void probe_estimates_freep(struct probe_estimates **estimates)
{
	probe_estimates_free(*estimates);
}

int probe_estimates_open(const struct accuracy_options *options, struct probe_estimates **out)
{
	CLEANUP(probe_estimates_freep) struct probe_estimates *made = calloc(1, sizeof(*made));
	struct error err;
	if (!made) {
		message_error("out of memory");
		return 1;
	}
	made->runs = options->runs;
	int status = input_read(&options->input, NULL, 0, &made->input);
	if (status == 0)
		status = input_resolver(&options->input, &made->input, INPUT_NAMES_AND_CODE,
					&made->resolver);
	if (status)
		return status;
	const struct cycles_options asked = { .isa = ISA_UNKNOWN };
	if (event_columns_init(&made->columns, made->input.profile, NULL, 0, &err) < 0 ||
	    annotate_index_new(made->input.profile, made->resolver, &made->columns, &made->index,
			       &err) < 0 ||
	    cycles_new(made->index, &asked, &made->cycles, &err) < 0)
		return message_failure(&err);
	*out = made;
	made = NULL; /* the caller's from here on */
	return 0;
}

/* Whether both estimates lack the same factor. */
static bool go_together(const struct execution_estimate *a, const struct execution_estimate *b)
{
	return a->scale == b->scale &&
	       (a->scale == CYCLES_BY_CLOCK ||
		(a->scale == CYCLES_RELATIVE && a->procedure == b->procedure));
}

/*
 * The factor that makes the estimates of its group add up to their counts. NaN for a group of one,
 * which could be made to agree with any count.
 */
static double factor_of(const struct execution_estimate *estimates, const struct breakpoint *list,
			size_t count, size_t which)
{
	double estimated = 0;
	double counted = 0;
	size_t members = 0;
	if (estimates[which].scale == CYCLES_ABSOLUTE)
		return 1;
	for (size_t i = 0; i < count; i++) {
		if (isnan(estimates[i].value) || list[i].limited ||
		    !go_together(&estimates[i], &estimates[which]))
			continue;
		estimated += estimates[i].value;
		counted += (double)list[i].count;
		members++;
	}
	return members > 1 && estimated > 0 ? counted / estimated : NAN;
}

void probe_estimates_fill(struct probe_estimates *estimates, const struct breakpoint *list,
			  size_t count, struct probe_estimate *rows)
{
	struct execution_estimate found[BREAKPOINTS_MAX];
	for (size_t i = 0; i < count; i++) {
		const struct code_place *place = &list[i].place;
		const struct identity *identity = &place->identity;
		struct error err = { 0 };
		rows[i] = (struct probe_estimate){ .factor = NAN };
		if (execution_estimate_at(
			    estimates->cycles,
			    (struct span){ identity->build_id, identity->build_id_bytes },
			    (struct span){ &identity->hash, sizeof(identity->hash) }, place->vaddr,
			    &found[i], &err) < 0)
			snprintf(rows[i].why, sizeof(rows[i].why), "%.200s", err.text);
		else if (isnan(found[i].value))
			snprintf(rows[i].why, sizeof(rows[i].why), "too few samples");
	}
	for (size_t i = 0; i < count; i++) {
		struct probe_estimate *row = &rows[i];
		double factor = factor_of(found, list, count, i);
		if (row->why[0])
			continue;
		if (isnan(factor)) {
			snprintf(
				row->why, sizeof(row->why),
				found[i].scale == CYCLES_RELATIVE
					? "executions are known up to a factor of the procedure's: "
					  "probe two of its instructions"
					: "executions are known up to one factor: probe two "
					  "instructions");
			continue;
		}
		/* With a factor from the counts the number of runs does not matter. */
		double scale = found[i].scale == CYCLES_ABSOLUTE ? 1 / estimates->runs : factor;
		row->known = true;
		row->factor = found[i].scale == CYCLES_ABSOLUTE ? 1 : factor;
		row->value = found[i].value * scale;
		row->low = found[i].low * scale;
		row->high = found[i].high * scale;
		row->confidence = frequency_confidence_word(found[i].confidence);
	}
}
