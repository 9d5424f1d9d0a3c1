#include "analyze/compare/compare_scope.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/compare/comparison.h"
#include "base/count_of.h"

#define MUCH_LOST     0.01 /* of a side's samples: a hundredth moves shares visibly */
#define SAME_DURATION 0.02 /* raw totals of two runs differ by that anyway */
#define NAMED_BUILDS  4	   /* that differ, named one by one; the others are summed up */

/* ---- was the time chosen? */

static bool is_word(struct span word, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		size_t size = strlen(words[i]);
		bool short_option = size == 2;
		/* "-p" as in "-p 12" and "-p12", "--pid" as in "--pid 12" and "--pid=12" */
		if (word.size >= size && memcmp(word.data, words[i], size) == 0 &&
		    (word.size == size || short_option || ((const char *)word.data)[size] == '='))
			return true;
	}
	return false;
}

enum next_word { NEXT_PROGRAM, NEXT_VERB, NEXT_OPTION, NEXT_VALUE, NEXT_MAYBE_VALUE };

/* What may follow an option of culprit's, perf's or simpleperf's record that names nothing to
 * watch.
 */
static enum next_word after_option(struct span word)
{
	static const char *const with_value[] = { "-e", "-o", "-c", "-F", "-m", "-D" };
	static const char *const flags[] = { "-b",
					     "-d",
					     "-g",
					     "-i",
					     "-n",
					     "-q",
					     "-s",
					     "-v",
					     "--no-random",
					     "--no-stash",
					     "--per-process",
					     "--per-thread",
					     "--per-cpu",
					     "--redact" };
	bool is_short = word.size > 1 && ((const char *)word.data)[1] != '-';
	if (memchr(word.data, '=', word.size) || (is_short && word.size > 2))
		return NEXT_OPTION;
	if (is_word(word, with_value, COUNT_OF(with_value)))
		return NEXT_VALUE;
	return is_word(word, flags, COUNT_OF(flags)) ? NEXT_OPTION : NEXT_MAYBE_VALUE;
}

bool compare_time_was_chosen(const struct scope *scope)
{
	static const char *const watching[] = {
		"-a", "--all-cpus", "-p", "--pid",    "-t", "--tid",
		"-C", "--cpu",	    "-G", "--cgroup", "-u", "--uid"
	};
	struct span command = scope->first.command;
	const char *text = command.data;
	enum next_word next = NEXT_PROGRAM;
	if (!scope->has_source || !scope->duration_ns)
		return false;
	for (size_t at = 0; at < command.size;) {
		const char *end = memchr(text + at, ' ', command.size - at);
		size_t size = end ? (size_t)(end - text) - at : command.size - at;
		struct span word = { text + at, size };
		bool option = size && text[at] == '-';
		at += size + 1;
		if (next == NEXT_VERB && span_equal(word, span_of_text("daemon")))
			return true;
		if (next == NEXT_PROGRAM || next == NEXT_VERB) {
			next = next == NEXT_PROGRAM ? NEXT_VERB : NEXT_OPTION;
			continue;
		}
		if (next == NEXT_VALUE || (next == NEXT_MAYBE_VALUE && !option)) {
			next = NEXT_OPTION;
			continue;
		}
		if (!option || span_equal(word, span_of_text("--")))
			return false; /* from here on it is what was run */
		if (is_word(word, watching, COUNT_OF(watching)))
			return true;
		next = after_option(word);
	}
	return false;
}

enum difference_counts compare_counts_of(const struct profile *profile,
					 enum difference_counts asked)
{
	size_t count = profile_table(profile, PROFILE_SOURCE)->count;
	if (asked != DIFFERENCE_COUNTS_UNKNOWN || count == 0)
		return asked;
	for (size_t row = 0; row < count; row++) {
		struct span tool = profile_source(profile, row).tool;
		if (!span_starts_with(tool, "callgrind-") && !span_starts_with(tool, "cachegrind-"))
			return asked;
	}
	return DIFFERENCE_COUNTS_EXACT;
}

/* ---- doubts */

#define SIZE(text) (int)((text).size < 80 ? (text).size : 80)
#define TEXT(text) (text).size ? (const char *)(text).data : "-"

/* "other kernel: 6.1.0 before, 6.8.2 after" */
static int note_other(struct comparison *comparison, const char *what, struct span before,
		      struct span after)
{
	if (span_equal(before, after) || !before.size || !after.size)
		return 0;
	return compare_note(comparison, "other %s: %.*s before, %.*s after", what, SIZE(before),
			    TEXT(before), SIZE(after), TEXT(after));
}

static int note_machines(struct comparison *comparison)
{
	const struct scope *a = &comparison->before->scope, *b = &comparison->after->scope;
	if (!a->has_source || !b->has_source)
		return 0;
	if (!a->one_machine || !b->one_machine)
		return compare_note(comparison, "the %s side is of several kinds of machines",
				    a->one_machine ? "after" : "base");
	const struct {
		const char *what;
		struct span before, after;
	} parts[] = { { "instruction set", a->first.machine, b->first.machine },
		      { "CPU", a->first.cpu_name, b->first.cpu_name },
		      { "CPU model", a->first.cpu_model, b->first.cpu_model },
		      { "microcode", a->first.microcode, b->first.microcode },
		      { "kernel", a->first.kernel, b->first.kernel },
		      { "hypervisor", a->first.hypervisor, b->first.hypervisor },
		      { "SMT", a->first.smt, b->first.smt },
		      { "frequency governor", a->first.governor, b->first.governor },
		      { "turbo", a->first.turbo, b->first.turbo },
		      { "frequency range", a->first.frequency, b->first.frequency } };
	for (size_t i = 0; i < COUNT_OF(parts); i++) {
		/* the model is a number that goes with the name */
		if (i == 2 && !span_equal(parts[1].before, parts[1].after))
			continue;
		int ret = note_other(comparison, parts[i].what, parts[i].before, parts[i].after);
		if (ret < 0)
			return ret;
	}
	if (a->cpus && b->cpus && a->cpus != b->cpus)
		return compare_note(comparison,
				    "other number of CPUs: %" PRIu64 " before, %" PRIu64 " after",
				    a->cpus, b->cpus);
	return 0;
}

static int note_durations(struct comparison *comparison)
{
	const struct scope *a = &comparison->before->scope, *b = &comparison->after->scope;
	bool chosen = compare_time_was_chosen(a);
	if (a->duration_ns && b->duration_ns && chosen != compare_time_was_chosen(b)) {
		int ret = compare_note(comparison,
				       "the %s side watched for a chosen time, the other one ran a "
				       "command to its end",
				       chosen ? "base" : "after");
		if (ret < 0)
			return ret;
	}
	/* how long a command took to its end is part of what one compares */
	bool both_to_the_end = a->first.command.size && b->first.command.size && !chosen &&
			       !compare_time_was_chosen(b);
	if (comparison->base != DIFFERENCE_RAW || !a->duration_ns || !b->duration_ns ||
	    both_to_the_end)
		return 0;
	double ratio = (double)b->duration_ns / (double)a->duration_ns;
	if (fabs(ratio - 1) < SAME_DURATION)
		return 0;
	return compare_note(comparison,
			    "recorded for %.2f s before and %.2f s after: these are totals; "
			    "--per second compares rates",
			    (double)a->duration_ns / 1e9, (double)b->duration_ns / 1e9);
}

static const char *privilege(const struct event_column *column)
{
	unsigned bits = (unsigned)column->exclude & (EXCLUDE_USER | EXCLUDE_KERNEL);
	return bits == 0		? "user and kernel"
	       : bits == EXCLUDE_KERNEL ? "user only"
	       : bits == EXCLUDE_USER	? "kernel only"
					: "neither user nor kernel";
}

static const char *period_unit(const struct event_column *column)
{
	return column->policy == PERIOD_FREQUENCY ? " Hz"
	       : column->clock == EVENT_CLOCK	  ? " ns"
						  : "";
}

/*
 * Every recording measures its own period, and weights account for it. Where periods are random,
 * about the same mean is the same: each period is drawn from half to one and a half of it.
 */
static bool other_period(const struct event_column *a, const struct event_column *b)
{
	if (!a->sampled || !b->sampled || !a->period_most || !b->period_most)
		return false;
	if (a->policy == PERIOD_RANDOM && b->policy == PERIOD_RANDOM)
		return 4 * (double)a->period_most > 5 * (double)b->period_least ||
		       4 * (double)b->period_most > 5 * (double)a->period_least;
	return a->policy != b->policy || a->period_most != b->period_most ||
	       a->period_least != b->period_least;
}

static int note_event(struct comparison *comparison, const struct event_column *a,
		      const struct event_column *b)
{
	int ret = 0;
	bool one_event = span_equal(a->name, span_of_text("before")) &&
			 span_equal(b->name, span_of_text("after")); /* of two columns */
	if (!span_equal(a->name, b->name) && !one_event)
		ret = compare_note(comparison, "other event: %.*s before, %.*s after",
				   SIZE(a->name), TEXT(a->name), SIZE(b->name), TEXT(b->name));
	if (ret == 0 && strcmp(privilege(a), privilege(b)) != 0)
		ret = compare_note(comparison, "%.*s counted %s before, %s after", SIZE(a->name),
				   TEXT(a->name), privilege(a), privilege(b));
	if (ret == 0)
		ret = note_other(comparison, "unit", a->unit, b->unit);
	if (ret == 0)
		ret = note_other(comparison, "core type", a->core_type, b->core_type);
	if (ret == 0 && other_period(a, b))
		ret = compare_note(comparison,
				   "other period of %.*s: %" PRIu64 "%s before, %" PRIu64
				   "%s after",
				   SIZE(a->name), TEXT(a->name), a->period_most, period_unit(a),
				   b->period_most, period_unit(b));
	if (ret == 0 && a->precise != b->precise)
		ret = compare_note(comparison,
				   "other precision of addresses: %.*s was precise %" PRIu64
				   " before, %" PRIu64 " after",
				   SIZE(a->name), TEXT(a->name), a->precise, b->precise);
	return ret;
}

static int note_losses(struct comparison *comparison, const struct report *report, size_t column,
		       const char *side)
{
	const struct scope_bill *bill = &report->scope.bills[column];
	const struct event_column *event = &report->columns.list[column];
	struct scope_number lost = scope_lost(bill);
	double seen = (double)report->whole[column].samples + (double)report->idle[column].samples;
	int ret = 0;
	if (lost.known && (double)lost.value > MUCH_LOST * ((double)lost.value + seen))
		ret = compare_note(comparison, "%.1f %% of the samples of %.*s were lost %s",
				   100 * (double)lost.value / ((double)lost.value + seen),
				   SIZE(event->name), TEXT(event->name), side);
	if (ret == 0 && bill->throttled.known && bill->throttled.value)
		ret = compare_note(comparison, "the kernel throttled %.*s %" PRIu64 " time%s %s",
				   SIZE(event->name), TEXT(event->name), bill->throttled.value,
				   bill->throttled.value == 1 ? "" : "s", side);
	return ret;
}

static int note_sides(struct comparison *comparison)
{
	const struct report *reports[] = { comparison->before, comparison->after };
	static const char *const sides[] = { "before", "after" };
	for (size_t s = 0; s < 2; s++) {
		for (size_t i = 0; i < comparison->column_count; i++) {
			const struct compared_column *column = &comparison->columns[i];
			int ret = note_losses(comparison, reports[s],
					      s ? column->after : column->before, sides[s]);
			if (ret < 0)
				return ret;
		}
		const struct scope *scope = &reports[s]->scope;
		if (scope->cut_off.known && scope->cut_off.value &&
		    compare_note(comparison, "the recording %s was cut off", sides[s]) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* ---- builds */

static struct span build_id(const struct report *report, uint32_t image)
{
	return profile_image(report->profile, image).build_id;
}

static void short_id(struct span id, char text[17])
{
	text[0] = 0;
	for (size_t i = 0; i < id.size && i < 4; i++)
		snprintf(text + 2 * i, 3, "%02x", ((const uint8_t *)id.data)[i]);
}

/* Images whose procedures were matched by name because their builds differ. */
static int note_builds(struct comparison *comparison)
{
	uint32_t seen[NAMED_BUILDS];
	size_t count = 0, more = 0;
	for (size_t g = 0; g < comparison->matching.count; g++) {
		const struct match_group *group = &comparison->matching.groups[g];
		if (group->kind != MATCH_OTHER_BUILD)
			continue;
		const struct report_row *row = &comparison->before->rows[group->before[0]];
		const struct report_row *other = &comparison->after->rows[group->after[0]];
		size_t i = 0;
		while (i < count && seen[i] != row->image)
			i++;
		if (i < count)
			continue;
		if (count == NAMED_BUILDS) {
			more++;
			continue;
		}
		seen[count++] = row->image;
		char before[17], after[17];
		short_id(build_id(comparison->before, row->image), before);
		short_id(build_id(comparison->after, other->image), after);
		if (compare_note(comparison,
				 "'%s' is another build (%s before, %s after): what is in it was "
				 "matched by name",
				 row->image_name, before, after) < 0)
			return -ENOMEM;
	}
	if (more == 0)
		return 0;
	return compare_note(comparison, "so was what is in other images that were built anew");
}

static int note_other_images(struct comparison *comparison)
{
	size_t count = 0;
	const struct match_group *first = NULL;
	for (size_t g = 0; g < comparison->matching.count; g++) {
		const struct match_group *group = &comparison->matching.groups[g];
		if (group->kind != MATCH_OTHER_IMAGE)
			continue;
		if (count++ == 0)
			first = group;
	}
	if (!first)
		return 0;
	const char *before = comparison->before->rows[first->before[0]].image_name;
	const char *after = comparison->after->rows[first->after[0]].image_name;
	return compare_note(comparison,
			    "%zu row%s matched by procedure name alone, across images of other "
			    "names, as '%s' and '%s'",
			    count, count == 1 ? " was" : "s were", before ? before : "",
			    after ? after : "");
}

int compare_note_doubts(struct comparison *comparison)
{
	if (note_machines(comparison) < 0 || note_durations(comparison) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < comparison->column_count; i++) {
		const struct compared_column *column = &comparison->columns[i];
		if (note_event(comparison, &comparison->before->columns.list[column->before],
			       &comparison->after->columns.list[column->after]) < 0)
			return -ENOMEM;
	}
	if (note_sides(comparison) < 0 || note_builds(comparison) < 0)
		return -ENOMEM;
	return note_other_images(comparison);
}
