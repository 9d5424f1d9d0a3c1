#include "analyze/report/contradictions.h"

#include <inttypes.h>

#include "analyze/report/report.h"
#include "base/count_of.h"

static int note_machine(struct report *report)
{
	const struct scope *scope = &report->scope;
	bool beyond =
		scope->busy_ns.known && ((scope->online_ns.value && scope_busy_ratio(scope) < 0) ||
					 (scope->duration_ns && scope_mean_busy_cpus(scope) < 0));
	if (!beyond)
		return 0;
	return report_add_note(report, "the profile contradicts itself: its CPUs were busy for "
				       "longer than they were there, so how busy is not known");
}

static int note_stacks(struct report *report)
{
	uint64_t samples = report->scope.resolution.samples;
	uint64_t with_stack = report->scope.stack_samples - report->scope.apart_samples;
	if (with_stack <= samples)
		return 0;
	return report_add_note(report,
			       "the profile contradicts itself: %" PRIu64
			       " samples have a call stack, of %" PRIu64 " samples in all",
			       with_stack, samples);
}

/* More than the whole that it is a part of; where either is not known, nothing is said. */
static int note_part(struct report *report, size_t column, const char *part_name,
		     struct scope_number part, const char *whole_name, struct scope_number whole)
{
	struct span name = report->columns.list[column].name;
	if (!part.known || !whole.known || part.value <= whole.value)
		return 0;
	return report_add_note(
		report, "the bill of '%.*s' does not add up: %" PRIu64 " %s, %" PRIu64 " %s",
		name.size < 80 ? (int)name.size : 80, name.size ? (const char *)name.data : "",
		part.value, part_name, whole.value, whole_name);
}

static int note_bill(struct report *report, size_t column)
{
	const struct scope_bill *bill = &report->scope.bills[column];
	const struct {
		const char *part_name;
		struct scope_number part;
		const char *whole_name;
		struct scope_number whole;
	} pairs[] = {
		{ "samples lost", scope_lost(bill), "overflows", bill->runs },
		{ "samples of unknown code", scope_unknown(bill), "stored", bill->stored },
		{ "ns counted", bill->running_ns, "ns enabled", bill->enabled_ns },
	};
	for (size_t i = 0; i < COUNT_OF(pairs); i++) {
		int ret = note_part(report, column, pairs[i].part_name, pairs[i].part,
				    pairs[i].whole_name, pairs[i].whole);
		if (ret < 0)
			return ret;
	}
	return 0;
}

int report_note_contradictions(struct report *report)
{
	int ret = note_machine(report);
	if (ret == 0)
		ret = note_stacks(report);
	for (size_t i = 0; ret == 0 && i < report->columns.count; i++)
		ret = note_bill(report, i);
	if (ret == 0 && report->scope.sums_passed)
		ret = report_add_note(report, "some sums of times and losses pass 64 bits and are "
					      "not known");
	return ret;
}
