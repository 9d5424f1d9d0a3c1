#include "analyze/report/report_make.h"

#include <errno.h>
#include <stdlib.h>

#include "analyze/report/call_tree.h"
#include "analyze/report/chosen_samples.h"
#include "analyze/report/contradictions.h"
#include "analyze/report/report_flat.h"
#include "base/cleanup.h"
#include "base/error.h"

static int fill_stacks(struct report *report, struct resolver *resolver, struct error *err)
{
	CLEANUP(chosen_samples_release) struct chosen_samples selection;
	int ret = chosen_samples_init(&selection, report, resolver, NULL, NULL, err);
	return ret < 0 ? ret : call_tree_fill(report, &selection, err);
}

static void cut_rows(struct report *report)
{
	size_t kept = 0;
	for (size_t i = 0; i < report->row_count; i++) {
		struct report_row *row = &report->rows[i];
		bool full = report->options.limit && kept == report->options.limit;
		if (!full && !report_row_is_small(report, row)) {
			report->rows[kept++] = *row;
			continue;
		}
		report->rest_count++;
		for (size_t c = 0; c < report->columns.count; c++)
			cell_add(&report->rest[c], &row->self[c]);
	}
	report->row_count = kept;
}

/* ---- the whole */

static int note_pairs(struct report *report)
{
	for (size_t i = 0; i < report->columns.pair_count; i++) {
		const struct event_pair *pair = &report->columns.pairs[i];
		const struct event_column *cycles = &report->columns.list[pair->cycles];
		const struct event_column *other = &report->columns.list[pair->instructions];
		if (pair->samples == RATIO_GROUPED || (cycles->sampled && other->sampled))
			continue;
		if (report_add_note(report, "both events of the CPI were read with a third one's "
					    "samples: its intervals are upper bounds") < 0)
			return -ENOMEM;
		break;
	}
	return 0;
}

static int make(struct report *report, struct resolver *resolver, struct error *err)
{
	const struct report_options *options = &report->options;
	int ret = options->view == REPORT_FLAT ? report_flat_fill(report, resolver, err)
					       : fill_stacks(report, resolver, err);
	if (ret == 0 && (options->view == REPORT_FLAT || options->view == REPORT_INCLUSIVE)) {
		qsort_r(report->rows, report->row_count, sizeof(*report->rows), report_compare_rows,
			report);
		cut_rows(report);
	}
	if (ret == 0 && (places_tell_apart(report->places) < 0 || note_pairs(report) < 0 ||
			 report_note_contradictions(report) < 0))
		ret = error_set(err, -ENOMEM, "out of memory making the report");
	return ret;
}

int report_new(const struct profile *profile, struct resolver *resolver,
	       const struct report_options *options, struct report **out, struct error *err)
{
	CLEANUP(report_freep) struct report *report = NULL;
	int ret = report_prepare(profile, resolver, options, &report, err);
	if (ret == 0)
		ret = make(report, resolver, err);
	if (ret < 0)
		return ret;
	*out = report;
	report = NULL; /* the caller's from here on */
	return 0;
}
