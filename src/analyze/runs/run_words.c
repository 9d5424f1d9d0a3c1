#include "analyze/runs/run_words.h"

#include <stdio.h>

#define MOST_DECIMALS 9
#define MOST_PLAIN    1e15 /* beyond, numbers are written with an exponent */
#define NUMBER_BYTES  32
#define UNIT_BYTES    24
#define ROUNDED	      1e-12 /* what quotients of equal values differ by; less is no width */

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

/* How a number is written: in percent or in its unit, with two digits of what it is sure to. */
struct form {
	double factor;
	int decimals;
	char unit[UNIT_BYTES]; /* with the blank before it */
};

static struct form form_of(enum run_scale scale, struct run_unit unit, double width, double value)
{
	struct form form = { .factor = unit.factor };
	if (scale == RUN_RATIO)
		form = (struct form){ .factor = 100, .unit = " %" };
	else if (unit.name[0])
		snprintf(form.unit, sizeof(form.unit), " %s", unit.name);
	double size = form.factor * (width > ROUNDED ? width : fabs(value));
	if (size > 0)
		form.decimals = (int)fmin(MOST_DECIMALS, fmax(0, 1 - floor(log10(size))));
	return form;
}

enum sign { SIGN_NEGATIVE, SIGN_BOTH };

static const char *number(char text[NUMBER_BYTES], const struct form *form, enum sign sign,
			  double value)
{
	double shown = form->factor * value;
	if (fabs(shown) < 0.5 * pow(10, -form->decimals))
		return "0";
	const char *plus = sign == SIGN_BOTH && shown >= 0 ? "+" : "";
	if (fabs(shown) < MOST_PLAIN)
		snprintf(text, NUMBER_BYTES, "%s%.*f", plus, form->decimals, shown);
	else
		snprintf(text, NUMBER_BYTES, "%s%.3g", plus, shown);
	return text;
}

static void write_found(const struct run_comparison *comparison, enum run_measure measure,
			struct run_unit unit, char text[RUN_WORDS_BYTES])
{
	const struct estimate *change = &comparison->change;
	bool more = change->low > 0;
	struct form form =
		form_of(comparison->scale, unit, change->high - change->low, change->value);
	double low = more ? change->low : -change->high, high = more ? change->high : -change->low;
	char by[NUMBER_BYTES], from[NUMBER_BYTES], to[NUMBER_BYTES];
	snprintf(text, RUN_WORDS_BYTES, "%s%s by %s%s (%s to %s)%s",
		 comparison->verdict == RUN_MAYBE ? "perhaps " : "",
		 more ? more_word(measure) : less_word(measure),
		 number(by, &form, SIGN_NEGATIVE, fabs(change->value)), form.unit,
		 number(from, &form, SIGN_NEGATIVE, low), number(to, &form, SIGN_NEGATIVE, high),
		 comparison->verdict == RUN_MAYBE ? ", or one of many that are chance" : "");
}

static void write_not_found(const struct run_comparison *comparison, struct run_unit unit,
			    char text[RUN_WORDS_BYTES])
{
	const struct estimate *change = &comparison->change;
	struct form form = form_of(comparison->scale, unit, change->high - change->low, 0);
	char from[NUMBER_BYTES], to[NUMBER_BYTES];
	if (change->low >= 0 && change->high <= 0)
		snprintf(text, RUN_WORDS_BYTES,
			 "no difference found (the same in nearly every round)");
	else
		snprintf(text, RUN_WORDS_BYTES, "no difference found (within %s to %s%s)",
			 number(from, &form, SIGN_BOTH, change->low),
			 number(to, &form, SIGN_BOTH, change->high), form.unit);
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
		      struct run_unit unit, char text[RUN_WORDS_BYTES])
{
	switch (comparison->verdict) {
	case RUN_TOO_FEW:
		write_too_few(comparison, text);
		break;
	case RUN_NOT_FOUND:
		write_not_found(comparison, unit, text);
		break;
	case RUN_MAYBE:
	case RUN_LESS:
	case RUN_MORE:
		write_found(comparison, measure, unit, text);
		break;
	}
}

void run_detectable_text(const struct run_comparison *comparison, struct run_unit unit,
			 char text[RUN_WORDS_BYTES])
{
	text[0] = '\0';
	if (comparison->change.kind != ESTIMATE_INTERVAL)
		return;
	if (comparison->detectable <= ROUNDED) {
		snprintf(text, RUN_WORDS_BYTES, "would find any difference");
		return;
	}
	struct form form = form_of(comparison->scale, unit, comparison->detectable, 0);
	char number_text[NUMBER_BYTES];
	snprintf(text, RUN_WORDS_BYTES, "would find %s%s",
		 number(number_text, &form, SIGN_NEGATIVE, comparison->detectable), form.unit);
}
