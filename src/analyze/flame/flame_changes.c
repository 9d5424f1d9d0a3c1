#include "analyze/flame/flame_changes.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/flame/flame_runs.h"
#include "base/cleanup.h"
#include "base/error.h"

static struct cell_change cells_of(const struct flame *flame, size_t frame, size_t column)
{
	return (struct cell_change){ .before = flame_total(flame, FLAME_BASE, frame)[column],
				     .after = flame_total(flame, FLAME_MAIN, frame)[column] };
}

static int judge(struct flame_changes *changes, size_t count)
{
	CLEANUP(free_pointer) double *p = calloc(count, sizeof(*p));
	if (!p)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		p[i] = changes->list[i].p;
	int ret = difference_control(p, count, p);
	for (size_t i = 0; ret == 0 && i < count; i++) {
		difference_judge(&changes->list[i], p[i]);
		enum difference_verdict verdict = changes->list[i].verdict;
		changes->significant += verdict == DIFFERENCE_SIGNIFICANT;
		changes->noise += verdict == DIFFERENCE_NOISE;
		changes->unknown += verdict == DIFFERENCE_NO_ERROR_KNOWN;
	}
	return ret;
}

/* Of the shown frames, between runs: in the width's column, and in those of the split. */
struct noises {
	struct difference_noise *width, *cycles, *instructions;
};

static void noises_release(struct noises *noises)
{
	free(noises->width);
	free(noises->cycles);
	free(noises->instructions);
}

static int fill_noise(const struct flame_runs *runs, size_t column, const uint32_t *frames,
		      size_t count, struct difference_noise **noises)
{
	*noises = calloc(count + 1, sizeof(**noises));
	return *noises ? flame_runs_noise(runs, column, frames, count, *noises) : -ENOMEM;
}

static int noises_init(struct noises *noises, const struct flame_view *view,
		       const struct flame_changes_options *options)
{
	const struct flame_ratio *cpi = &options->cpi;
	if (!options->runs)
		return 0;
	CLEANUP(free_pointer) uint32_t *frames = calloc(view->count + 1, sizeof(*frames));
	if (!frames)
		return -ENOMEM;
	for (size_t i = 0; i < view->count; i++)
		frames[i] = view->shown[i].frame;
	int ret =
		fill_noise(options->runs, view->options.width, frames, view->count, &noises->width);
	if (ret == 0 && cpi->known)
		ret = fill_noise(options->runs, cpi->above, frames, view->count, &noises->cycles);
	if (ret == 0 && cpi->known)
		ret = fill_noise(options->runs, cpi->below, frames, view->count,
				 &noises->instructions);
	return ret;
}

static int fill(struct flame_changes *changes, const struct flame_view *view)
{
	CLEANUP(noises_release) struct noises noises = { 0 };
	const struct flame_changes_options *options = &changes->options;
	const struct flame_ratio *cpi = &options->cpi;
	const struct flame *flame = view->flame;
	changes->list = calloc(view->count, sizeof(*changes->list));
	if (cpi->known)
		changes->splits = calloc(view->count, sizeof(*changes->splits));
	if (!changes->list || (cpi->known && !changes->splits))
		return -ENOMEM;
	if (noises_init(&noises, view, options) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < view->count; i++) {
		size_t frame = view->shown[i].frame;
		struct cell_change width = cells_of(flame, frame, view->options.width);
		changes->list[i] = difference_of_runs(&options->event, &width, options->overlap,
						      noises.width ? &noises.width[i] : NULL);
		if (!cpi->known)
			continue;
		struct cell_change cycles = cells_of(flame, frame, cpi->above);
		struct cell_change instructions = cells_of(flame, frame, cpi->below);
		changes->splits[i] =
			noises.cycles
				? difference_split_of_runs(&options->cycles, &cycles, &instructions,
							   cpi->samples, &noises.cycles[i],
							   &noises.instructions[i])
				: difference_split_of(&options->cycles, &cycles, &instructions,
						      cpi->samples);
	}
	return judge(changes, view->count);
}

int flame_changes_init(struct flame_changes *changes, const struct flame_view *view,
		       const struct flame_changes_options *options, struct error *err)
{
	*changes = (struct flame_changes){ .options = *options };
	if (fill(changes, view) == 0)
		return 0;
	flame_changes_release(changes);
	return error_set(err, -ENOMEM, "out of memory comparing frames");
}

void flame_changes_release(struct flame_changes *changes)
{
	free(changes->list);
	free(changes->splits);
	*changes = (struct flame_changes){ 0 };
}

struct estimate flame_changes_ratio(const struct flame_changes *changes, size_t shown)
{
	const struct difference *change = &changes->list[shown];
	if (cell_is_empty(&change->before) && cell_is_empty(&change->after))
		return (struct estimate){ .kind = ESTIMATE_ABSENT };
	double ratio = change->before_scaled > 0 ? 1 + change->change_ratio.value : INFINITY;
	return (struct estimate){ ESTIMATE_VALUE, ratio, ratio, ratio };
}
