#include "profile/weight.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"

void weight_release(struct weight *weight)
{
	free(weight->targets);
	*weight = (struct weight){ 0 };
}

int weight_sample(struct weight *weight, uint32_t target)
{
	int ret = array_reserve(&weight->targets, &weight->capacity, weight->count,
				sizeof(*weight->targets));
	if (ret == 0)
		weight->targets[weight->count++] = target;
	return ret;
}

static int compare_targets(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *)a;
	uint32_t right = *(const uint32_t *)b;
	return (left > right) - (left < right);
}

/* One target's share of a window. */
struct share {
	uint32_t target;
	uint64_t samples;
	uint64_t whole;
	double rest;
};

static int compare_rests(const void *a, const void *b)
{
	const struct share *left = a;
	const struct share *right = b;
	if (left->rest != right->rest)
		return left->rest > right->rest ? -1 : 1;
	return (left->target > right->target) - (left->target < right->target);
}

static size_t gather(const uint32_t *targets, size_t count, double per_sample, struct share *shares)
{
	size_t made = 0;
	for (size_t i = 0; i < count; i++) {
		if (!made || shares[made - 1].target != targets[i])
			shares[made++] = (struct share){ .target = targets[i] };
		shares[made - 1].samples++;
	}
	for (size_t i = 0; i < made; i++) {
		double exact = (double)shares[i].samples * per_sample;
		shares[i].whole = (uint64_t)exact;
		shares[i].rest = exact - floor(exact);
	}
	return made;
}

int weight_flush(struct weight *weight, weight_emit emit, void *context, uint64_t *lost_events)
{
	size_t seen = weight->count + weight->lost;
	if (seen == 0) {
		weight->advanced = 0;
		return 0;
	}
	double per_sample = weight->advanced / (double)seen;
	uint64_t stored = (uint64_t)llround(per_sample * (double)weight->count);
	*lost_events += (uint64_t)llround(per_sample * (double)weight->lost);

	CLEANUP(free_pointer) struct share *shares = calloc(weight->count + 1, sizeof(*shares));
	if (!shares)
		return -ENOMEM;
	if (weight->count)
		qsort(weight->targets, weight->count, sizeof(*weight->targets), compare_targets);
	size_t count = gather(weight->targets, weight->count, per_sample, shares);
	qsort(shares, count, sizeof(*shares), compare_rests);
	uint64_t handed_out = 0;
	for (size_t i = 0; i < count; i++)
		handed_out += shares[i].whole;
	uint64_t left = stored > handed_out ? stored - handed_out : 0;
	unsigned __int128 square = (unsigned __int128)(per_sample * per_sample);
	weight->count = 0;
	weight->lost = 0;
	weight->advanced = 0;
	for (size_t i = 0; i < count; i++) {
		struct cell cell = { shares[i].samples, shares[i].whole + (i < left),
				     square * shares[i].samples };
		int ret = emit(context, shares[i].target, &cell);
		if (ret < 0)
			return ret;
	}
	return 0;
}

int weight_advance(struct weight *weight, double events, uint64_t lost, weight_emit emit,
		   void *context, uint64_t *lost_events)
{
	weight->advanced += events;
	weight->lost += lost;
	if (weight->count + weight->lost < WEIGHT_WINDOW_SAMPLES)
		return 0;
	return weight_flush(weight, emit, context, lost_events);
}
