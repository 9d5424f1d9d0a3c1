#include "analyze/runs/run_words.h"

#include <stdio.h>

#define MOST_DECIMALS 9

/* Without a default each: the compiler tells of a value that has no word. */

const char *run_verdict_word(enum run_verdict verdict)
{
	switch (verdict) {
	case RUN_TOO_FEW:
		return "too_few";
	case RUN_NOT_FOUND:
		return "not_found";
	case RUN_MAYBE:
		return "maybe";
	case RUN_LESS:
		return "less";
	case RUN_MORE:
		return "more";
	}
	return NULL;
}

const char *run_scale_word(enum run_scale scale)
{
	switch (scale) {
	case RUN_RATIO:
		return "ratio";
	case RUN_DIFFERENCE:
		return "difference";
	}
	return NULL;
}

static const char *more_word(enum run_measure measure)
{
	switch (measure) {
	case RUN_TIME:
		return "slower";
	case RUN_COUNT:
		return "more";
	case RUN_RATE:
		return "higher";
	}
	return NULL;
}

static const char *less_word(enum run_measure measure)
{
	switch (measure) {
	case RUN_TIME:
		return "faster";
	case RUN_COUNT:
		return "fewer";
	case RUN_RATE:
		return "lower";
	}
	return NULL;
}

/* How a number is written: in percent or as it is, with two digits of what it is sure to. */
struct form {
	double factor;
	int decimals;
	const char *unit;
};

static struct form form_of(enum run_scale scale, double width, double value)
{
	struct form form = { 1, 0, "" };
	if (scale == RUN_RATIO)
		form = (struct form){ 100, 0, " %" };
	double size = form.factor * (width > 0 ? width : fabs(value));
	if (size > 0)
		form.decimals = (int)fmin(MOST_DECIMALS, fmax(0, 1 - floor(log10(size))));
	return form;
}

static void write_found(const struct run_comparison *comparison, enum run_measure measure,
			char text[RUN_WORDS_BYTES])
{
	const struct estimate *change = &comparison->change;
	bool more = change->low > 0;
	struct form form = form_of(comparison->scale, change->high - change->low, change->value);
	double low = more ? change->low : -change->high, high = more ? change->high : -change->low;
	snprintf(text, RUN_WORDS_BYTES, "%s%s by %.*f%s (%.*f to %.*f)%s",
		 comparison->verdict == RUN_MAYBE ? "perhaps " : "",
		 more ? more_word(measure) : less_word(measure), form.decimals,
		 form.factor * fabs(change->value), form.unit, form.decimals, form.factor * low,
		 form.decimals, form.factor * high,
		 comparison->verdict == RUN_MAYBE ? ", or one of many that are chance" : "");
}

static void write_not_found(const struct run_comparison *comparison, char text[RUN_WORDS_BYTES])
{
	const struct estimate *change = &comparison->change;
	struct form form = form_of(comparison->scale, change->high - change->low, 0);
	if (change->low >= 0 && change->high <= 0)
		snprintf(text, RUN_WORDS_BYTES,
			 "no difference found (the same in nearly every round)");
	else
		snprintf(text, RUN_WORDS_BYTES, "no difference found (within %+.*f to %+.*f%s)",
			 form.decimals, form.factor * change->low, form.decimals,
			 form.factor * change->high, form.unit);
}

static void write_too_few(const struct run_comparison *comparison, char text[RUN_WORDS_BYTES])
{
	if (comparison->rounds)
		snprintf(text, RUN_WORDS_BYTES,
			 "too few runs: %zu reach a level of %.1f %%, and %.0f %% takes %zu",
			 comparison->rounds, 100 * comparison->level, 100 * RUN_LEVEL,
			 run_least_rounds(1));
	else
		snprintf(text, RUN_WORDS_BYTES, "no round in which both were counted");
}

void run_verdict_text(const struct run_comparison *comparison, enum run_measure measure,
		      char text[RUN_WORDS_BYTES])
{
	switch (comparison->verdict) {
	case RUN_TOO_FEW:
		write_too_few(comparison, text);
		break;
	case RUN_NOT_FOUND:
		write_not_found(comparison, text);
		break;
	case RUN_MAYBE:
	case RUN_LESS:
	case RUN_MORE:
		write_found(comparison, measure, text);
		break;
	}
}

void run_detectable_text(const struct run_comparison *comparison, char text[RUN_WORDS_BYTES])
{
	text[0] = '\0';
	if (comparison->change.kind != ESTIMATE_INTERVAL)
		return;
	if (comparison->detectable <= 0) {
		snprintf(text, RUN_WORDS_BYTES, "would find any difference");
		return;
	}
	struct form form = form_of(comparison->scale, comparison->detectable, 0);
	snprintf(text, RUN_WORDS_BYTES, "would find %.*f%s", form.decimals,
		 form.factor * comparison->detectable, form.unit);
}
