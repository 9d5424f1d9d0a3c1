#include "analyze/figures/difference.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/figures/count_test.h"
#include "base/student_t.h"

#define Z		  COUNT_TEST_Z_95
#define SIGNIFICANCE	  0.05
#define POWER_Z		  0.8416212335729143 /* P(N(0,1) <= it) = 0.8 */
#define SPLIT_MIN_SAMPLES 10		     /* of each of the four counts, for an interval */

const char *const difference_base_names[DIFFERENCE_BASES] = {
	[DIFFERENCE_RAW] = "raw",	    [DIFFERENCE_TOTAL] = "total",
	[DIFFERENCE_SECOND] = "second",	    [DIFFERENCE_EVENT] = "event",
	[DIFFERENCE_FUNCTION] = "function",
};
const char *const difference_verdict_names[] = { [DIFFERENCE_NO_ERROR_KNOWN] = "unknown",
						 [DIFFERENCE_NOISE] = "noise",
						 [DIFFERENCE_SIGNIFICANT] = "significant" };

/* ---- noise of runs */

/* Beyond, Student's t is the normal distribution to all digits shown. */
#define DEGREES_MOST 1e5

/* Square of how much longer an interval is than sampling alone makes it. */
static double stretch_of(const struct difference_noise *noise)
{
	if (!noise)
		return 1;
	double t = noise->degrees < DEGREES_MOST ? student_t_quantile(0.025, noise->degrees) : Z;
	return noise->factor * t * t / (Z * Z);
}

/* The normal deviate of a two-sided p. */
static double deviate_of(double p)
{
	double low = 0, high = 40; /* where p is the least double */
	while (high - low > 1e-9 * high) {
		double middle = (low + high) / 2;
		if (count_test_two_sided(middle) > p)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* A p that holds for a known variance, where it is known by so many degrees of freedom. */
static double p_of_runs(double p, const struct difference_noise *noise)
{
	if (!noise || !(noise->degrees < DEGREES_MOST) || !(p < 1))
		return p;
	return fmin(1, 2 * student_t_upper(deviate_of(p), noise->degrees));
}

/* ---- scales */

struct difference_scale difference_scale_raw(void)
{
	return (struct difference_scale){ .base = DIFFERENCE_RAW, .factor = 1 };
}

struct difference_scale difference_scale_runs(size_t before, size_t after)
{
	return (struct difference_scale){ .base = DIFFERENCE_RAW,
					  .factor = (double)after / (double)before };
}

struct difference_scale difference_scale_seconds(double before_s, double after_s)
{
	return (struct difference_scale){ .base = DIFFERENCE_SECOND,
					  .factor = before_s > 0 && after_s > 0 ? after_s / before_s
										: 0 };
}

struct difference_scale difference_scale_counts(enum difference_base base,
						const struct cell *before, const struct cell *after)
{
	struct difference_scale scale = { .base = base, .before = *before, .after = *after };
	if (before->estimate)
		scale.factor = (double)after->estimate / (double)before->estimate;
	return scale;
}

/* ---- one side of a row */

struct side {
	double value, squares; /* of the row */
	double whole, whole_squares;
	double scale, scale_squares; /* what the factor counts; 0 without */
	double common_squares;	     /* of the samples in both */
	bool known, exact;
};

/* The cell, where its counts are numbers of samples with the squares of samples of weight one;
 * `step` units of the estimate are one. */
static struct cell with_squares(const struct cell *cell, enum difference_counts counts, double step)
{
	struct cell known = *cell;
	if (counts != DIFFERENCE_COUNTS_SAMPLES || known.squares || !known.estimate)
		return known;
	double squares = (double)known.estimate * (step > 0 ? step : 1);
	known.squares =
		squares < 0x1p127 ? (unsigned __int128)squares : (unsigned __int128)1 << 127;
	return known;
}

static struct side side_of(const struct cell *cell, const struct cell *whole,
			   const struct cell *scale, enum difference_counts counts,
			   enum difference_overlap overlap)
{
	struct side side = { .value = (double)cell->estimate,
			     .squares = (double)cell->squares,
			     .whole = (double)whole->estimate,
			     .whole_squares = (double)whole->squares,
			     .scale = (double)scale->estimate,
			     .scale_squares = (double)scale->squares,
			     .exact = counts == DIFFERENCE_COUNTS_EXACT && !cell->squares &&
				      !whole->squares };
	side.known = side.exact || side.squares > 0 ||
		     (side.value == 0 && (side.whole == 0 || side.whole_squares > 0));
	if (overlap == DIFFERENCE_WITHIN)
		side.common_squares = side.squares;
	if (side.exact)
		side.squares = side.whole_squares = side.common_squares = 0;
	return side;
}

/*
 * Variance of value - slope * scale, where they have samples in common, as a
 * multiple of the value's own.
 */
static double variance_ratio(const struct side *side, double slope)
{
	if (side->exact)
		return 0;
	if (side->squares <= 0)
		return 1;
	return fmax(0,
		    1 + (slope * slope * side->scale_squares - 2 * slope * side->common_squares) /
				    side->squares);
}

/* Both sides as numbers of samples of one weight. */
struct counts {
	double after, before; /* effective samples */
	double ratio;	      /* what after's mean would be of before's if nothing changed */
	double after_weight;  /* of one such sample, in events */
	double before_weight;
	double after_variance, before_variance; /* as multiples of Poisson's */
};

/* The weight of a sample of `after` as a multiple of that of one of `before`: by the wholes, else
 * by the row, else as if nothing but the scale changed. */
static double weight_ratio(const struct side *before, const struct side *after, double factor)
{
	if (before->exact || after->exact)
		return factor;
	if (before->whole_squares > 0 && after->whole_squares > 0)
		return after->whole_squares / after->whole /
		       (before->whole_squares / before->whole);
	if (before->squares > 0 && after->squares > 0)
		return after->squares / after->value / (before->squares / before->value);
	return factor;
}

/*
 * Both sides get one mean weight, up to weight_ratio(): few samples of one side
 * say too little of it, and the row has no others than those of both sides.
 */
static struct counts counts_of(const struct side *before, const struct side *after, double factor)
{
	double k = weight_ratio(before, after, factor);
	double sum = after->value + k * before->value;
	double squares = after->squares + k * k * before->squares;
	if (before->exact != after->exact) /* the other side's samples alone have a weight */
		sum = after->exact ? k * before->value : after->value;
	struct counts counts = { .ratio = factor / k, .after_variance = 1, .before_variance = 1 };
	if (sum <= 0 || squares <= 0)
		return counts;
	counts.after_weight = squares / sum;
	counts.before_weight = counts.after_weight / k;
	counts.after = after->value / counts.after_weight;
	counts.before = before->value / counts.before_weight;
	counts.after_variance =
		variance_ratio(after, after->scale > 0 ? after->value / after->scale : 0);
	counts.before_variance =
		variance_ratio(before, before->scale > 0 ? before->value / before->scale : 0);
	return counts;
}

/* ---- figures */

static struct estimate value_only(double value)
{
	return (struct estimate){ ESTIMATE_VALUE, value, value, value };
}

static struct estimate scaled(struct estimate estimate, double factor)
{
	return (struct estimate){ estimate.kind, estimate.value * factor, estimate.low * factor,
				  estimate.high * factor };
}

/* Square of how far the truth may lie above (`up`) or below the value; `weight` is that of a sample
 * where the side has none. */
static double reach_squared(const struct side *side, double slope, double weight, bool up)
{
	double scale_squared = Z * Z * slope * slope * side->scale_squares;
	if (side->exact)
		return scale_squared;
	if (side->squares <= 0) { /* no samples: 0 is the least */
		double most = up ? interval_score_above(0) * weight : 0;
		return scale_squared + most * most;
	}
	double n = side->value * side->value / side->squares;
	double reach = up ? interval_score_above(n) : interval_score_below(n);
	reach *= side->squares / side->value;
	return reach * reach * variance_ratio(side, slope);
}

/* Zou and Donner 2008: the limits of a difference from those of its two parts. */
static struct estimate change_of(const struct side *before, const struct side *after,
				 const struct counts *counts, double factor, double stretch)
{
	double change = after->value - factor * before->value;
	double slope = before->scale > 0 ? before->value / before->scale : 0;
	double square = factor * factor;
	double down = reach_squared(after, slope, counts->after_weight, false) +
		      square * reach_squared(before, slope, counts->before_weight, true);
	double up = reach_squared(after, slope, counts->after_weight, true) +
		    square * reach_squared(before, slope, counts->before_weight, false);
	return (struct estimate){ ESTIMATE_INTERVAL, change, change - sqrt(stretch * down),
				  change + sqrt(stretch * up) };
}

/*
 * All ratios of the two means that Anscombe's test does not refuse: with
 * x = sqrt(after + 3/8), y = sqrt(before + 3/8) and s^2 the ratio, those with
 * (x - s y)^2 <= z^2/4 (variance of x + s^2 variance of y).
 */
static struct estimate ratio_of(const struct counts *counts, double value, double stretch)
{
	double c = stretch * Z * Z / 4;
	double x2 = counts->after + 0.375, y2 = counts->before + 0.375;
	double top = x2 - c * counts->after_variance, bottom = y2 - c * counts->before_variance;
	double middle = sqrt(x2 * y2), reach = sqrt(fmax(0, x2 * y2 - top * bottom));
	double low = top <= 0 ? 0 : top / (middle + reach); /* the smaller root, without loss */
	double high = bottom <= 0 ? INFINITY : (middle + reach) / bottom;
	low = low * low / counts->ratio;
	high = high * high / counts->ratio;
	/* the 3/8 move the middle: the value itself is never outside */
	return (struct estimate){ ESTIMATE_INTERVAL, value, fmin(low, value), fmax(high, value) };
}

static double test(const struct counts *counts, const struct difference_noise *noise)
{
	double variance = (counts->after_variance + counts->ratio * counts->before_variance) /
			  (1 + counts->ratio);
	/* nothing but the scale itself: the same by definition */
	if (variance < 1e-9 || counts->after + counts->before <= 0)
		return 1;
	if (noise)
		variance *= noise->factor;
	/* a comparison with so many times the variance is worth so many times fewer samples */
	return p_of_runs(
		count_test_p(counts->after / variance, counts->before / variance, counts->ratio),
		noise);
}

static void compare_exact(struct difference *out, double change)
{
	out->change.kind = ESTIMATE_INTERVAL;
	if (out->change_ratio.kind == ESTIMATE_VALUE)
		out->change_ratio.kind = ESTIMATE_INTERVAL;
	out->p = change == 0 ? 1 : 0;
}

static void compare(struct difference *out, const struct side *before, const struct side *after,
		    double factor, const struct difference_noise *noise)
{
	double change = after->value - out->before_scaled;
	double ratio = out->before_scaled > 0 ? after->value / out->before_scaled : NAN;
	out->change = value_only(change);
	out->change_ratio =
		isnan(ratio) ? (struct estimate){ .kind = ESTIMATE_ABSENT } : value_only(ratio - 1);
	if (!before->known || !after->known)
		return;
	if (before->exact && after->exact && before->scale_squares == 0 &&
	    after->scale_squares == 0) {
		compare_exact(out, change);
		return;
	}
	struct counts counts = counts_of(before, after, factor);
	if (counts.after_weight <= 0) { /* nothing on both sides, or no weight known */
		if (before->value == 0 && after->value == 0)
			out->p = 1;
		return;
	}
	double stretch = stretch_of(noise);
	out->p = test(&counts, noise);
	out->change = change_of(before, after, &counts, factor, stretch);
	if (isnan(ratio))
		return;
	out->change_ratio = ratio_of(&counts, ratio, stretch);
	out->change_ratio.value -= 1;
	out->change_ratio.low -= 1;
	out->change_ratio.high -= 1;
}

struct difference difference_of(const struct difference_event *event,
				const struct cell_change *cells, enum difference_overlap overlap)
{
	return difference_of_runs(event, cells, overlap, NULL);
}

struct difference difference_of_runs(const struct difference_event *event,
				     const struct cell_change *cells,
				     enum difference_overlap overlap,
				     const struct difference_noise *noise)
{
	const struct difference_scale *scale = &event->scale;
	struct cell before = with_squares(&cells->before, event->before_counts, event->step);
	struct cell after = with_squares(&cells->after, event->after_counts, event->step);
	struct cell before_whole =
		with_squares(&event->before_whole, event->before_counts, event->step);
	struct cell after_whole =
		with_squares(&event->after_whole, event->after_counts, event->step);
	struct difference out = { .before = cells->before, .after = cells->after, .p = NAN };
	out.before_share = interval_share(&before, &before_whole);
	out.after_share = interval_share(&after, &after_whole);
	if (scale->factor > 0) {
		struct cell scale_before =
			with_squares(&scale->before, event->before_counts, event->step);
		struct cell scale_after =
			with_squares(&scale->after, event->after_counts, event->step);
		struct side left = side_of(&before, &before_whole, &scale_before,
					   event->before_counts, overlap);
		struct side right =
			side_of(&after, &after_whole, &scale_after, event->after_counts, overlap);
		out.before_scaled = scale->factor * (double)before.estimate;
		compare(&out, &left, &right, scale->factor, noise);
		if (after_whole.estimate)
			out.change_of_after_total =
				scaled(out.change, 1 / (double)after_whole.estimate);
	}
	difference_judge(&out, out.p);
	return out;
}

/* ---- many rows */

struct numbered {
	double p;
	size_t at;
};

static int compare_p(const void *left, const void *right)
{
	const struct numbered *a = left, *b = right;
	if (a->p != b->p)
		return a->p < b->p ? -1 : 1;
	return (a->at > b->at) - (a->at < b->at);
}

int difference_control(const double *p, size_t count, double *q)
{
	struct numbered *list = calloc(count + 1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	size_t tests = 0;
	for (size_t i = 0; i < count; i++)
		if (!isnan(p[i]))
			list[tests++] = (struct numbered){ p[i], i };
		else
			q[i] = NAN;
	qsort(list, tests, sizeof(*list), compare_p);
	double least = 1;
	for (size_t i = tests; i-- > 0;) {
		least = fmin(least, list[i].p * (double)tests / (double)(i + 1));
		q[list[i].at] = least;
	}
	free(list);
	return 0;
}

void difference_judge(struct difference *difference, double q)
{
	difference->verdict = isnan(q)		  ? DIFFERENCE_NO_ERROR_KNOWN
			      : q <= SIGNIFICANCE ? DIFFERENCE_SIGNIFICANT
						  : DIFFERENCE_NOISE;
}

/* ---- cycles as instructions times CPI */

/* What a part of the split adds to its variance from one side. */
struct slopes {
	double cycles, instructions;
};

static double side_variance(struct slopes slopes, const struct cell *cycles,
			    const struct cell *instructions, enum ratio_samples samples)
{
	double c = (double)cycles->squares, i = (double)instructions->squares;
	double variance =
		slopes.cycles * slopes.cycles * c + slopes.instructions * slopes.instructions * i;
	double n = (double)(cycles->samples ? cycles->samples : instructions->samples);
	if (samples == RATIO_INDEPENDENT || n == 0)
		return variance;
	double common = (double)cycles->estimate * (double)instructions->estimate / n;
	common = fmin(common, sqrt(c * i)); /* Cauchy and Schwarz */
	return fmax(0, variance + 2 * slopes.cycles * slopes.instructions * common);
}

static bool has_error(const struct cell *cell)
{
	return cell_effective_samples(cell) >= SPLIT_MIN_SAMPLES;
}

static struct estimate part(double value, double variance, bool known, double *p)
{
	*p = NAN;
	if (!known)
		return value_only(value);
	double reach = Z * sqrt(variance);
	*p = variance > 0 ? count_test_two_sided(value / sqrt(variance)) : value == 0 ? 1 : 0;
	return (struct estimate){ ESTIMATE_INTERVAL, value, value - reach, value + reach };
}

static double relative_variance(const struct cell *cell)
{
	double n = cell_effective_samples(cell);
	return n > 0 ? 1 / n : 0;
}

/* Fills both parts; cells are {cycles, instructions} of each side, none of them 0. */
static void fill_split(struct difference_split *split, const struct difference_scale *scale,
		       const struct cell before[2], const struct cell after[2], bool known,
		       enum ratio_samples samples)
{
	double f = scale->factor;
	double before_cpi = split->before_cpi.value, after_cpi = split->after_cpi.value;
	double before_i = f * (double)before[1].estimate, after_i = (double)after[1].estimate;
	double grown = after_i / before_i;
	/* partial derivatives of the two parts, docs/methods.md */
	double by_before_i = (before_cpi * grown + after_cpi) / 2;
	double by_after_i = (before_cpi + after_cpi / grown) / 2;
	struct slopes before_slopes[2] = { { f * (grown - 1) / 2, -f * by_before_i },
					   { -f * (grown + 1) / 2, f * by_before_i } };
	struct slopes after_slopes[2] = { { (1 - 1 / grown) / 2, by_after_i },
					  { (1 + 1 / grown) / 2, -by_after_i } };
	double scale_variance =
		relative_variance(&scale->before) + relative_variance(&scale->after);
	double variance[2];
	for (int k = 0; k < 2; k++) {
		double by_factor = before_slopes[k].cycles * (double)before[0].estimate +
				   before_slopes[k].instructions * (double)before[1].estimate;
		variance[k] = side_variance(before_slopes[k], &before[0], &before[1], samples) +
			      side_variance(after_slopes[k], &after[0], &after[1], samples) +
			      by_factor * by_factor * scale_variance;
	}
	split->instructions = part((after_i - before_i) * (before_cpi + after_cpi) / 2, variance[0],
				   known, &split->instructions_p);
	split->cpi = part((after_cpi - before_cpi) * (before_i + after_i) / 2, variance[1], known,
			  &split->cpi_p);
}

struct difference_split difference_split_of(const struct difference_event *cycles,
					    const struct cell_change *of_cycles,
					    const struct cell_change *of_instructions,
					    enum ratio_samples samples)
{
	const struct cell before[2] = {
		with_squares(&of_cycles->before, cycles->before_counts, cycles->step),
		with_squares(&of_instructions->before, cycles->before_counts, cycles->step)
	};
	const struct cell after[2] = {
		with_squares(&of_cycles->after, cycles->after_counts, cycles->step),
		with_squares(&of_instructions->after, cycles->after_counts, cycles->step)
	};
	struct difference_split split = { .instructions_p = NAN, .cpi_p = NAN };
	split.before_cpi = interval_ratio(&before[0], &before[1], samples);
	split.after_cpi = interval_ratio(&after[0], &after[1], samples);
	if (split.before_cpi.kind == ESTIMATE_ABSENT || split.after_cpi.kind == ESTIMATE_ABSENT ||
	    !(cycles->scale.factor > 0))
		return split;
	bool exact = cycles->before_counts == DIFFERENCE_COUNTS_EXACT &&
		     cycles->after_counts == DIFFERENCE_COUNTS_EXACT;
	bool known = exact || (has_error(&before[0]) && has_error(&before[1]) &&
			       has_error(&after[0]) && has_error(&after[1]));
	fill_split(&split, &cycles->scale, before, after, known, samples);
	return split;
}

/* The cell as if its samples were so many fewer and heavier. */
static struct cell noisy(const struct cell *cell, const struct difference_noise *noise)
{
	struct cell out = *cell;
	double squares = (double)cell->squares * noise->factor;
	out.squares = squares < 0x1p127 ? (unsigned __int128)squares : (unsigned __int128)1 << 127;
	return out;
}

static void stretch_part(struct estimate *part, double *p, const struct difference_noise *noise)
{
	*p = p_of_runs(*p, noise);
	if (part->kind != ESTIMATE_INTERVAL)
		return;
	double times = sqrt(stretch_of(noise));
	part->low = part->value - times * (part->value - part->low);
	part->high = part->value + times * (part->high - part->value);
}

struct difference_split difference_split_of_runs(const struct difference_event *cycles,
						 const struct cell_change *of_cycles,
						 const struct cell_change *of_instructions,
						 enum ratio_samples samples,
						 const struct difference_noise *cycles_noise,
						 const struct difference_noise *instructions_noise)
{
	const struct cell_change c = { noisy(&of_cycles->before, cycles_noise),
				       noisy(&of_cycles->after, cycles_noise) };
	const struct cell_change n = { noisy(&of_instructions->before, instructions_noise),
				       noisy(&of_instructions->after, instructions_noise) };
	struct difference_split split = difference_split_of(cycles, &c, &n, samples);
	const struct difference_noise known = { 1, fmin(cycles_noise->degrees,
							instructions_noise->degrees) };
	stretch_part(&split.instructions, &split.instructions_p, &known);
	stretch_part(&split.cpi, &split.cpi_p, &known);
	return split;
}

/* ---- planning */

double difference_least_ratio(double before_samples, double after_samples)
{
	if (!(before_samples > 0) || !(after_samples > 0))
		return INFINITY;
	double same = after_samples / before_samples;
	double root = (Z + POWER_Z) * sqrt(1 + same) / 2 + sqrt(same * (before_samples + 0.375));
	return (root * root - 0.375) / after_samples;
}
