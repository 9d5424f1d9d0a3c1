#include "render/flame_colour.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define STEPS 4 /* between the middle and an end of the scale */
/* The middle's class: this far around it by its value, and never more than a quarter step. */
#define MIDDLE_REACH	  1.05
#define MIDDLE_STEPS_MOST 0.25
/* An interval's end may lie this many steps from the value: half a class, and one more. */
#define SURE_STEPS    1.5
#define STEP_ROUNDING 1e-9 /* 0.5 lies on the edge that pow(4, -0.5) says is 0.5 */

/* What is known of a metric without a graph. */
struct metric {
	const char *name;
	double low, middle, high;
	bool logarithmic, rising_works, percent;
};

static const struct metric metrics[] = {
	/* from four instructions a cycle, what wide cores reach, to four cycles an instruction,
	 * where nearly all of a cycle waits; equal in octaves around IPC 1 */
	[FLAME_CPI] = { "cpi", 0.25, 1, 4, .logarithmic = true },
	[FLAME_IPC] = { "ipc", 0.25, 1, 4, .logarithmic = true, .rising_works = true },
	/* shares in steps of ten points */
	[FLAME_STALLS] = { "stalls", 0.1, 0.5, 0.9, .percent = true },
	[FLAME_RETIRING] = { "retiring", 0.1, 0.5, 0.9, .percent = true, .rising_works = true },
	[FLAME_BACKEND] = { "backend", 0.1, 0.5, 0.9, .percent = true },
	[FLAME_RATIO] = { "ratio", 0, 0, 0, .logarithmic = true },
	/* half to double, the same way from both sides */
	[FLAME_DELTA] = { "delta", 0.5, 1, 2, .logarithmic = true, .percent = true },
	[FLAME_PACKAGE] = { .name = "package" },
	[FLAME_NONE] = { .name = "none" },
};
#define METRICS (sizeof(metrics) / sizeof(metrics[0]))

bool flame_metric_of(const char *name, enum flame_metric *metric)
{
	for (size_t i = 0; i < METRICS; i++)
		if (i != FLAME_RATIO && strcmp(metrics[i].name, name) == 0) {
			*metric = (enum flame_metric)i;
			return true;
		}
	return false;
}

struct flame_scale flame_scale_of(enum flame_metric metric)
{
	const struct metric *known = &metrics[metric];
	return (struct flame_scale){ .metric = metric,
				     .low = known->low,
				     .middle = known->middle,
				     .high = known->high,
				     .has_scale = known->middle > 0 };
}

/* 1, 2 or 5 times a power of ten, by the logarithm the nearest to value > 0. */
static double round_number_near(double value)
{
	double power = pow(10, floor(log10(value)));
	double best = power;
	static const double digits[] = { 1, 2, 5, 10 };
	for (size_t i = 0; i < sizeof(digits) / sizeof(digits[0]); i++)
		if (fabs(log(digits[i] * power / value)) < fabs(log(best / value)))
			best = digits[i] * power;
	return best;
}

void flame_scale_derive(struct flame_scale *scale, double whole_ratio)
{
	if (!isnormal(whole_ratio) || whole_ratio < 0)
		return;
	scale->middle = round_number_near(whole_ratio);
	scale->low = scale->middle / 10;
	scale->high = scale->middle * 10;
	scale->derived = scale->has_scale = true;
}

/* One number of LO:MID:HI up to `end`; false when it isn't one. */
static bool read_bound(const struct metric *metric, const char **text, char end, double *value)
{
	char *after = NULL;
	double number = strtod(*text, &after);
	if (after == *text || !isfinite(number))
		return false;
	if (metric->percent) {
		while (*after == ' ' || *after == '%')
			after++;
		number /= 100;
	}
	if (metric == &metrics[FLAME_DELTA])
		number += 1;
	if (*after != end)
		return false;
	*text = after + (end != '\0');
	*value = number;
	return true;
}

int flame_scale_parse(struct flame_scale *scale, const char *text, struct error *err)
{
	const struct metric *metric = &metrics[scale->metric];
	if (scale->metric == FLAME_PACKAGE || scale->metric == FLAME_NONE)
		return error_set(err, -EINVAL, "colours by '%s' have no scale", metric->name);
	double low = 0, middle = 0, high = 0;
	const char *at = text;
	if (!read_bound(metric, &at, ':', &low) || !read_bound(metric, &at, ':', &middle) ||
	    !read_bound(metric, &at, '\0', &high))
		return error_set(err, -EINVAL, "scale '%s' is not LOW:MIDDLE:HIGH, as in %s", text,
				 scale->metric == FLAME_DELTA ? "-50:0:100"
				 : metric->percent	      ? "10:50:90"
							      : "0.25:1:4");
	if (!(low < middle && middle < high))
		return error_set(err, -EINVAL, "scale '%s' does not rise", text);
	if (low < 0 || (metric->logarithmic && low <= 0))
		return error_set(err, -EINVAL, "scale '%s' starts at or below %s", text,
				 scale->metric == FLAME_DELTA ? "-100 %" : "0");
	scale->low = low;
	scale->middle = middle;
	scale->high = high;
	scale->has_scale = true;
	scale->derived = false;
	return 0;
}

/* Where a value lies: 0 in the middle, STEPS at the high end, -STEPS at the low one. */
static double step_of(const struct flame_scale *scale, double value)
{
	double end = value < scale->middle ? scale->low : scale->high;
	if (metrics[scale->metric].logarithmic) {
		if (value <= 0)
			return -INFINITY;
		return copysign(STEPS * log(value / scale->middle) / log(end / scale->middle),
				value - scale->middle);
	}
	return copysign(STEPS * (value - scale->middle) / (end - scale->middle),
			value - scale->middle);
}

static double value_of_step(const struct flame_scale *scale, double step)
{
	double end = step < 0 ? scale->low : scale->high;
	double part = fabs(step) / STEPS;
	if (metrics[scale->metric].logarithmic)
		return scale->middle * pow(end / scale->middle, part);
	return scale->middle + part * (end - scale->middle);
}

/* Half the width of the middle's class, in steps of that side. */
static double middle_reach(const struct flame_scale *scale, double side)
{
	bool logarithmic = metrics[scale->metric].logarithmic;
	double edge = side < 0 && logarithmic ? scale->middle / MIDDLE_REACH
		      : side < 0	      ? scale->middle * (2 - MIDDLE_REACH)
					      : scale->middle * MIDDLE_REACH;
	return fmin(fabs(step_of(scale, edge)), MIDDLE_STEPS_MOST);
}

/* A value on an edge belongs to the class farther from the middle, on both sides: so CPI 2 and IPC
 * 0.5 have one colour. */
static int range_of_step(const struct flame_scale *scale, double step)
{
	double away = fabs(step) + STEP_ROUNDING;
	if (away - 2 * STEP_ROUNDING < middle_reach(scale, step))
		return FLAME_CLASS_MIDDLE;
	int from_middle = away >= STEPS ? STEPS + 1 : (int)away + 1;
	return step < 0 ? FLAME_CLASS_MIDDLE - from_middle : FLAME_CLASS_MIDDLE + from_middle;
}

int flame_scale_range_class(const struct flame_scale *scale, int i)
{
	return metrics[scale->metric].rising_works ? FLAME_CLASSES - 1 - i : i;
}

/* Steps beyond the scale all have one colour: certainty there changes nothing. */
static double within_scale(double step)
{
	return fmax(-STEPS - 1, fmin(STEPS + 1, step));
}

static bool is_unsure(const struct flame_scale *scale, struct estimate value, double samples)
{
	if (samples >= 0 && samples < INTERVAL_FEW_SAMPLES)
		return true;
	if (value.kind != ESTIMATE_INTERVAL)
		return false;
	double low = within_scale(step_of(scale, value.low));
	double high = within_scale(step_of(scale, value.high));
	if (scale->metric == FLAME_DELTA)
		return low <= 0 && high >= 0 &&
		       (low < -middle_reach(scale, -1) || high > middle_reach(scale, 1));
	double step = within_scale(step_of(scale, value.value));
	return step - low > SURE_STEPS || high - step > SURE_STEPS;
}

int flame_class(const struct flame_scale *scale, struct estimate value, double samples)
{
	if (!scale->has_scale || value.kind == ESTIMATE_ABSENT || isnan(value.value))
		return FLAME_CLASS_ABSENT;
	if (is_unsure(scale, value, samples))
		return FLAME_CLASS_UNSURE;
	return flame_scale_range_class(scale, range_of_step(scale, step_of(scale, value.value)));
}

double flame_scale_edge(const struct flame_scale *scale, int i)
{
	int from_middle =
		i < FLAME_CLASS_MIDDLE ? i - FLAME_CLASS_MIDDLE + 1 : i - FLAME_CLASS_MIDDLE;
	if (i == FLAME_CLASS_MIDDLE - 1)
		return value_of_step(scale, -middle_reach(scale, -1));
	if (i == FLAME_CLASS_MIDDLE)
		return value_of_step(scale, middle_reach(scale, 1));
	return value_of_step(scale, from_middle);
}

static void value_digits(const struct flame_scale *scale, double value, int digits,
			 char text[FLAME_LEGEND_TEXT])
{
	if (scale->metric == FLAME_DELTA)
		snprintf(text, FLAME_LEGEND_TEXT, value == 1 ? "0 %%" : "%+.0f %%",
			 (value - 1) * 100);
	else if (metrics[scale->metric].percent)
		snprintf(text, FLAME_LEGEND_TEXT, "%.3g %%", value * 100);
	else
		snprintf(text, FLAME_LEGEND_TEXT, "%.*g", digits, value);
}

void flame_value_text(const struct flame_scale *scale, double value, char text[FLAME_LEGEND_TEXT])
{
	if (scale->metric == FLAME_DELTA)
		snprintf(text, FLAME_LEGEND_TEXT, "%+.1f %%", (value - 1) * 100);
	else if (metrics[scale->metric].percent)
		snprintf(text, FLAME_LEGEND_TEXT, "%.1f %%", value * 100);
	else if (scale->metric == FLAME_RATIO)
		snprintf(text, FLAME_LEGEND_TEXT, "%.3g", value);
	else
		snprintf(text, FLAME_LEGEND_TEXT, "%.2f", value);
}

static void fill_entry(const struct flame_scale *scale, int i, struct flame_legend_entry *entry)
{
	char from[FLAME_LEGEND_TEXT] = "", to[FLAME_LEGEND_TEXT] = "";
	entry->class_number = flame_scale_range_class(scale, i);
	if (i > 0)
		value_digits(scale, flame_scale_edge(scale, i - 1), 3, from);
	if (i < FLAME_CLASSES - 1)
		value_digits(scale, flame_scale_edge(scale, i), 3, to);
	if (i == 0)
		snprintf(entry->range, sizeof(entry->range), "<= %.*s", 40, to);
	else if (i == FLAME_CLASSES - 1)
		snprintf(entry->range, sizeof(entry->range), ">= %.*s", 40, from);
	else
		snprintf(entry->range, sizeof(entry->range), "%.*s to %.*s", 28, from, 28, to);
	entry->tick[0] = '\0';
	if (i == FLAME_CLASS_MIDDLE)
		value_digits(scale, scale->middle, 2, entry->tick);
	else if (i != FLAME_CLASS_MIDDLE - 1 && i != FLAME_CLASSES - 1)
		value_digits(scale, flame_scale_edge(scale, i), 2, entry->tick);
	entry->tick[strcspn(entry->tick, " ")] = '\0'; /* the title says percent */
}

static void fill_words(struct flame_legend *legend, const struct flame_scale *scale,
		       struct span above, struct span below)
{
	int a = (int)(above.size < 60 ? above.size : 60),
	    b = (int)(below.size < 60 ? below.size : 60);
	const char *above_text = a ? above.data : "?", *below_text = b ? below.data : "?";
	a += !a;
	b += !b;
#define SAY(field, ...) snprintf(legend->field, sizeof(legend->field), __VA_ARGS__)
	switch (scale->metric) {
	case FLAME_CPI:
		SAY(title, "CPI: cycles per instruction");
		SAY(low, "works: many instructions a cycle");
		SAY(high, "waits: many cycles an instruction");
		break;
	case FLAME_IPC:
		SAY(title, "IPC: instructions per cycle");
		SAY(low, "waits: few instructions a cycle");
		SAY(high, "works: many instructions a cycle");
		break;
	case FLAME_STALLS:
		SAY(title, "stalls: %.*s in percent of %.*s", a, above_text, b, below_text);
		SAY(low, "works: few cycles stall");
		SAY(high, "waits: most cycles stall");
		break;
	case FLAME_RETIRING:
		SAY(title, "retiring: percent of the issue slots that did useful work");
		SAY(low, "waits: few slots retire");
		SAY(high, "works: most slots retire");
		break;
	case FLAME_BACKEND:
		SAY(title,
		    "backend: percent of the issue slots that waited for memory or for execution");
		SAY(low, "works: few slots wait");
		SAY(high, "waits: most slots wait");
		break;
	case FLAME_DELTA:
		SAY(title, "change of %.*s against before, in percent", a,
		    a > 1 || above.size ? above_text : "the total");
		SAY(low, "less than before");
		SAY(high, "more than before");
		break;
	case FLAME_RATIO:
		SAY(title, "%.*s per %.*s", a, above_text, b, below_text);
		SAY(low, "few");
		SAY(high, "many");
		break;
	case FLAME_PACKAGE:
		SAY(title, "colour by image");
		break;
	case FLAME_NONE:
		break;
	}
#undef SAY
}

void flame_legend_init(struct flame_legend *legend, const struct flame_scale *scale,
		       struct span above, struct span below)
{
	memset(legend, 0, sizeof(*legend));
	fill_words(legend, scale, above, below);
	if (!scale->has_scale)
		return;
	legend->count = FLAME_CLASSES;
	for (int i = 0; i < FLAME_CLASSES; i++)
		fill_entry(scale, i, &legend->entries[i]);
	snprintf(legend->unsure, sizeof(legend->unsure), "%s",
		 scale->metric == FLAME_DELTA ? "not significant: the change may be noise"
					      : "not significant: too few samples to say");
	if (scale->derived)
		snprintf(legend->note, sizeof(legend->note),
			 "scale %g:%g:%g taken from this graph; --scale fixes it for others",
			 scale->low, scale->middle, scale->high);
}
