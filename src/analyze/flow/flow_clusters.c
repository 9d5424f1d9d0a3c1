#include "analyze/flow/flow_clusters.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/cleanup.h"

/* SOSP 1997, 6.1.3 names the rules but not their numbers, except the 1.5. */
#define CLUSTER_RATIO  1.5
#define CLUSTER_SIGMAS 3.0  /* wider where chance alone moves the lowest point by that much */
#define CLUSTER_SHARE  0.25 /* of the points */
#define ALONE_RATIO    0.9  /* of the cluster's mean, see leave_out_stalls() */
/* A mean over all executions of an instruction: each of them misses all caches. */
#define LONGEST_STALL_CYCLES 400.0
/* With fewer than both of these the points are too uncertain to choose among. */
#define SAMPLES_A_POINT 20.0
#define SAMPLES_A_CLASS 400.0

/* The mean frequency of the instructions first..last of one block, if none of them stalled. */
struct point {
	double ratio, samples, cycles;
	double samples_before, cycles_before; /* sums over the points before it */
	double alone; /* samples of `last`, where the others have no M; else NaN */
	uint32_t first, last;
};

/* Of one class. */
struct cluster {
	double least;	/* of executions: fewer would mean a stall above LONGEST_STALL_CYCLES */
	double cycles;	/* sum over its points, of which some may overlap; 0: there is no cluster */
	double spread;	/* variance of executions beyond chance */
	double squares; /* variance of the sum of its samples */
};

struct work {
	const struct flow_clusters_code *code;
	const double *samples;
	struct point *points;	  /* by class */
	uint32_t *point_start;	  /* by class, and two more */
	struct cluster *clusters; /* by class */
	int32_t *windows; /* by instruction: windows of clusters that begin there less those that
			   ended before; then running sums */
};

static void work_release(struct work *work)
{
	free(work->points);
	free(work->point_start);
	free(work->clusters);
	free(work->windows);
}

static int work_init(struct work *work)
{
	size_t instructions = work->code->instruction_count, classes = work->code->class_count;
	work->points = calloc(instructions + 1, sizeof(*work->points));
	work->point_start = calloc(classes + 2, sizeof(*work->point_start));
	work->clusters = calloc(classes + 1, sizeof(*work->clusters));
	work->windows = calloc(instructions + 1, sizeof(*work->windows));
	bool all = work->points && work->point_start && work->clusters && work->windows;
	return all ? 0 : -ENOMEM;
}

static void sum_up(struct work *work, struct flow_clusters *out)
{
	const struct flow_clusters_code *code = work->code;
	for (uint32_t class = 0; class < code->class_count; class ++)
		out[class] = (struct flow_clusters){ .executions = NAN, .standard_error = NAN };
	for (uint32_t block = 0; block < code->block_count; block++) {
		uint32_t class = code->class_of_block[block];
		assert(class < code->class_count);
		assert(code->blocks[block].end <= code->instruction_count);
		for (uint32_t i = code->blocks[block].first; i < code->blocks[block].end; i++) {
			assert(work->samples[i] >= 0 && code->issue_cycles[i] >= 0);
			out[class].samples += work->samples[i];
			out[class].issue_cycles += code->issue_cycles[i];
			out[class].points += code->issue_cycles[i] > 0;
		}
	}
}

uint32_t flow_clusters_window(const double *issue_cycles, const uint32_t *waits_for,
			      const double *samples, uint32_t first, uint32_t i)
{
	uint32_t lowest = first, from = i;
	if (waits_for[i] != FLOW_WAITS_FOR_NOTHING) {
		assert(first <= waits_for[i] && waits_for[i] < i);
		lowest = waits_for[i] + 1;
		if (issue_cycles[i] > 1)
			from = lowest;
	}
	while (from > lowest && issue_cycles[from - 1] == 0 && samples[from - 1] > 0)
		from--;
	return from;
}

/* Adds the points of a block at `at`; returns their end. `before`: scratch, by instruction of the
 * block the sums of samples and cycles before it. */
static struct point *find_points_of(struct work *work, uint32_t block, double (*before)[2],
				    struct point *at)
{
	const struct flow_clusters_code *code = work->code;
	struct flow_range range = code->blocks[block];
	struct cluster *cluster = &work->clusters[code->class_of_block[block]];
	double samples = 0, cycles = 0;
	for (uint32_t i = range.first; i < range.end; i++) {
		double m = code->issue_cycles[i], s = work->samples[i];
		before[i - range.first][0] = samples;
		before[i - range.first][1] = cycles;
		samples += s;
		cycles += m;
		if (!(m > 0))
			continue;
		uint32_t first = flow_clusters_window(code->issue_cycles, code->waits_for,
						      work->samples, range.first, i);
		*at = (struct point){
			.samples = s, .cycles = m, .alone = NAN, .first = first, .last = i
		};
		if (first < i) {
			at->samples = samples - before[first - range.first][0];
			at->cycles = cycles - before[first - range.first][1];
		}
		at->ratio = at->samples / at->cycles;
		if (first < i && at->cycles == m)
			at->alone = s;
		at++;
		cluster->least = fmax(cluster->least, s / (m + LONGEST_STALL_CYCLES));
	}
	return at;
}

/* Lists points by class; afterwards point_start is where those of each class begin. */
static int find_points(struct work *work, const struct flow_clusters *out)
{
	const struct flow_clusters_code *code = work->code;
	CLEANUP(free_pointer)
	double(*before)[2] = calloc(code->instruction_count + (size_t)1, sizeof(*before));
	if (!before)
		return -ENOMEM;
	/* two places on: filling then moves each start to where it belongs */
	for (size_t class = 0; class < code->class_count; class ++)
		work->point_start[class + 2] = work->point_start[class + 1] + out[class].points;
	for (uint32_t block = 0; block < code->block_count; block++) {
		uint32_t *start = &work->point_start[code->class_of_block[block] + (size_t)1];
		struct point *end = find_points_of(work, block, before, &work->points[*start]);
		*start = (uint32_t)(end - work->points);
	}
	return 0;
}

/* By ratio; among equals the one of fewer samples first, which has the wider cluster. */
static int compare_points(const void *left, const void *right)
{
	const struct point *a = left, *b = right;
	if (a->ratio != b->ratio)
		return a->ratio < b->ratio ? -1 : 1;
	if (a->samples != b->samples)
		return a->samples < b->samples ? -1 : 1;
	return (a->last > b->last) - (a->last < b->last);
}

/* How many points from `lowest` on are a cluster; they are ordered. */
static size_t cluster_size(const struct point *lowest, const struct point *end)
{
	double chance = 1 + CLUSTER_SIGMAS / sqrt(fmax(lowest->samples, 1));
	double limit = lowest->ratio * fmax(CLUSTER_RATIO, chance);
	const struct point *from = lowest, *to = end;
	while (from < to) {
		const struct point *middle = from + (to - from) / 2;
		if (middle->ratio <= limit)
			from = middle + 1;
		else
			to = middle;
	}
	return (size_t)(from - lowest);
}

/* How many points a cluster needs: a share of all and two at least, but of two points one. */
static size_t points_needed(size_t points)
{
	size_t share = (size_t)ceil(CLUSTER_SHARE * (double)points);
	return points < 3 ? 1 : share < 2 ? 2 : share;
}

static void order(struct point *points, size_t count)
{
	double samples = 0, cycles = 0;
	qsort(points, count, sizeof(*points), compare_points);
	for (size_t i = 0; i < count; i++) {
		points[i].samples_before = samples;
		points[i].cycles_before = cycles;
		samples += points[i].samples;
		cycles += points[i].cycles;
	}
}

/* Samples per cycle of points that stand one after another. */
static double mean_of(const struct point *points, size_t count, double *cycles)
{
	const struct point *last = &points[count - 1];
	*cycles = last->cycles_before + last->cycles - points->cycles_before;
	return (last->samples_before + last->samples - points->samples_before) / *cycles;
}

/*
 * The variance of a cluster's points about its mean, less what chance explains with one standard
 * deviation more. It is not divided by the number of points, as all of a class may stall a little.
 */
static double spread(const struct point *points, size_t count, double mean, double cycles)
{
	double squares = 0, chance = -mean;
	if (count < 2)
		return 0;
	for (size_t i = 0; i < count; i++) {
		squares += points[i].cycles * (points[i].ratio - mean) * (points[i].ratio - mean);
		chance += points[i].ratio;
	}
	chance *= 1 + sqrt(2 / (double)(count - 1)); /* chi-squared of count - 1 degrees */
	return fmax(0, (squares - chance) / cycles);
}

/*
 * Where the last instruction of a window has about the cluster's mean by itself, it did not issue
 * with those before it, so their samples are stalls and are left out. Returns the mean without
 * them.
 */
static double leave_out_stalls(struct point *points, size_t count, double mean)
{
	double samples = 0, cycles = 0;
	for (size_t i = 0; i < count; i++) {
		struct point *at = &points[i];
		if (at->alone >= ALONE_RATIO * mean * at->cycles) {
			at->samples = at->alone;
			at->ratio = at->alone / at->cycles;
			at->first = at->last;
		}
		samples += at->samples;
		cycles += at->cycles;
	}
	return samples / cycles;
}

static bool few_samples(const struct flow_clusters *class)
{
	return class->samples < SAMPLES_A_POINT * class->points && class->samples < SAMPLES_A_CLASS;
}

/* Takes the first cluster that passes the rules of docs/methods.md, "Executions from cycles";
 * without one the estimate by sums stays. */
static void choose_cluster(struct work *work, uint32_t class, struct flow_clusters *out)
{
	size_t count = out->points, needed = points_needed(count);
	struct point *points = &work->points[work->point_start[class]];
	struct cluster *cluster = &work->clusters[class];
	if (count < 2 || few_samples(out))
		return;
	order(points, count);
	for (size_t lowest = 0; lowest < count; lowest++) {
		if (!(points[lowest].ratio > 0))
			continue;
		double cycles;
		size_t size = cluster_size(&points[lowest], &points[count]);
		double mean = mean_of(&points[lowest], size, &cycles);
		if (size < needed || mean < cluster->least)
			continue;
		mean = leave_out_stalls(&points[lowest], size, mean);
		out->kind = FLOW_CLUSTERS_LOWEST;
		out->executions = mean;
		out->in_cluster = (uint32_t)size;
		cluster->cycles = cycles;
		cluster->spread = spread(&points[lowest], size, mean, cycles);
		for (size_t i = lowest; i < lowest + size; i++) {
			work->windows[points[i].first]++;
			work->windows[points[i].last + 1]--;
		}
		return;
	}
}

/* A sample that lies in n windows is in the sum n times: it adds n^2 to the sum's variance. */
static void add_squares(struct work *work)
{
	const struct flow_clusters_code *code = work->code;
	for (size_t i = 1; i < code->instruction_count; i++)
		work->windows[i] += work->windows[i - 1];
	for (uint32_t block = 0; block < code->block_count; block++) {
		double *squares = &work->clusters[code->class_of_block[block]].squares;
		for (uint32_t i = code->blocks[block].first; i < code->blocks[block].end; i++)
			*squares += (double)work->windows[i] * work->windows[i] * work->samples[i];
	}
}

int flow_clusters_estimate(const struct flow_clusters_code *code, const double *samples,
			   struct flow_clusters *out)
{
	CLEANUP(work_release) struct work work = { .code = code, .samples = samples };
	int ret = work_init(&work);
	if (ret < 0)
		return ret;
	sum_up(&work, out);
	ret = find_points(&work, out);
	if (ret < 0)
		return ret;

	for (uint32_t class = 0; class < code->class_count; class ++) {
		struct flow_clusters *of = &out[class];
		if (!(of->issue_cycles > 0))
			continue;
		of->kind = FLOW_CLUSTERS_SUM;
		of->executions = of->samples / of->issue_cycles;
		of->standard_error = sqrt(fmax(of->samples, 1)) / of->issue_cycles;
		choose_cluster(&work, class, of);
	}
	add_squares(&work);
	for (uint32_t class = 0; class < code->class_count; class ++) {
		const struct cluster *cluster = &work.clusters[class];
		if (out[class].kind == FLOW_CLUSTERS_LOWEST)
			out[class].standard_error =
				sqrt(cluster->squares / (cluster->cycles * cluster->cycles) +
				     cluster->spread);
	}
	return 0;
}
