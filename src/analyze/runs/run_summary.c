#include "analyze/runs/run_summary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/student_t.h"
#include "base/cleanup.h"
#include "base/error.h"

/* Iglewicz and Hoaglin, How to Detect and Handle Outliers (1993): a modified z-score above 3.5.
 * The factors make a normal distribution's deviation of either. */
#define OUTLYING	     3.5
#define PER_MEDIAN_DEVIATION 1.4826022185056018 /* 1 / the 75 % point of N(0,1) */
#define PER_MEAN_DEVIATION   1.2533141373155003 /* sqrt(pi / 2) */

static int compare_doubles(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;
	return (a > b) - (a < b);
}

/* `sorted` rises; n above 0. */
static double median_of(const double *sorted, size_t n)
{
	double low = sorted[(n - 1) / 2], high = sorted[n / 2];
	return low + (high - low) / 2;
}

static void fill_mean(struct run_summary *out, const double *list)
{
	double n = (double)out->counted, mean = 0, squares = 0;
	for (size_t i = 0; i < out->counted; i++)
		mean += (list[i] - mean) / (double)(i + 1);
	out->mean = (struct estimate){ ESTIMATE_VALUE, mean, mean, mean };
	if (out->counted < 2)
		return;
	for (size_t i = 0; i < out->counted; i++)
		squares += (list[i] - mean) * (list[i] - mean);
	out->deviation = sqrt(squares / (n - 1));
	double reach = student_t_quantile(0.025, n - 1) * out->deviation / sqrt(n);
	out->mean = (struct estimate){ ESTIMATE_INTERVAL, mean, mean - reach, mean + reach };
}

/* The deviation of what most runs do. Where more than half are equal the median deviation is 0, and
 * the mean one takes its place; 0 when all are equal. `room` holds as many values. */
static double usual_deviation(struct run_summary *out, const double *list, double *room)
{
	double sum = 0;
	for (size_t i = 0; i < out->counted; i++) {
		room[i] = fabs(list[i] - out->median);
		sum += room[i];
	}
	qsort(room, out->counted, sizeof(*room), compare_doubles);
	out->median_deviation = median_of(room, out->counted);
	if (out->median_deviation > 0)
		return PER_MEDIAN_DEVIATION * out->median_deviation;
	return PER_MEAN_DEVIATION * sum / (double)out->counted;
}

static void flag_outliers(struct run_summary *out, const struct run_values *values, size_t command,
			  double deviation, bool *outlier)
{
	for (size_t round = 0; round < values->rounds; round++) {
		double distance = fabs(run_value(values, round, command) - out->median);
		bool stands_out = out->outliers_judged && distance > OUTLYING * deviation;
		out->outliers += stands_out; /* an absent one is not above anything */
		if (outlier)
			outlier[round] = stands_out;
	}
}

/* Copies the values that are there, in the order of the runs. */
static int collect(const struct run_values *values, size_t command, struct run_summary *out,
		   double *list, struct error *err)
{
	for (size_t round = 0; round < values->rounds; round++) {
		double value = run_value(values, round, command);
		if (isinf(value))
			return error_set(err, -EINVAL, "a value of run %zu is infinite", round + 1);
		if (isnan(value))
			out->absent++;
		else
			list[out->counted++] = value;
	}
	return 0;
}

int run_summary_of(const struct run_values *values, size_t command, bool *outlier,
		   struct run_summary *out, struct error *err)
{
	if (values->rounds > RUN_ROUNDS_MOST)
		return error_set(err, -EINVAL, "%zu runs are more than %d", values->rounds,
				 RUN_ROUNDS_MOST);
	CLEANUP(free_pointer) double *list = calloc(values->rounds + 1, sizeof(*list));
	CLEANUP(free_pointer) double *sorted = calloc(values->rounds + 1, sizeof(*sorted));
	if (!list || !sorted)
		return error_set(err, -ENOMEM, "out of memory describing runs");
	struct run_summary made = {
		.deviation = NAN, .median = NAN, .least = NAN, .most = NAN, .median_deviation = NAN
	};
	int ret = collect(values, command, &made, list, err);
	if (ret < 0)
		return ret;
	double deviation = 0;
	if (made.counted) {
		memcpy(sorted, list, made.counted * sizeof(*sorted));
		qsort(sorted, made.counted, sizeof(*sorted), compare_doubles);
		made.least = sorted[0];
		made.most = sorted[made.counted - 1];
		made.median = median_of(sorted, made.counted);
		fill_mean(&made, list);
	}
	if (made.counted > 1)
		deviation = usual_deviation(&made, list, sorted);
	made.outliers_judged = made.counted >= RUN_OUTLIERS_LEAST;
	flag_outliers(&made, values, command, deviation, outlier);
	ret = run_trend_of(list, made.counted, &made.trend);
	if (ret < 0)
		return error_set(err, ret, "out of memory describing runs");
	*out = made;
	return 0;
}

bool run_summary_hangs_together(const struct run_summary *summary)
{
	/* what is not known is not above either */
	return summary->trend.tau_p < RUN_TREND_SHOWN ||
	       summary->trend.likeness_p < RUN_TREND_SHOWN;
}
