#include "render/difference_json.h"

#include <math.h>

#include "render/json_parts.h"

static void add_cell(struct json_stream *json, const char *key, const struct cell *cell,
		     bool sampled, double step)
{
	json_stream_open(json, key, '{', JSON_LINES);
	json_stream_known(json, "samples", sampled, cell->samples);
	if (step == 1)
		json_stream_u64(json, "estimate", cell->estimate);
	else
		json_stream_double(json, "estimate", (double)cell->estimate / step);
	double error = cell_standard_error(cell);
	json_stream_double(json, "standard_error", error < 0 ? NAN : error / step);
	json_stream_close(json, '}');
}

void difference_json_add(struct json_stream *json, const char *key,
			 const struct difference_json_sides *sides, const struct difference *change)
{
	double step = sides->step;
	json_stream_open(json, key, '{', JSON_LINES);
	add_cell(json, "before", &change->before, sides->before_sampled, step);
	add_cell(json, "after", &change->after, sides->after_sampled, step);
	bool has_change = change->change.kind != ESTIMATE_ABSENT;
	json_stream_double(json, "before_scaled", has_change ? change->before_scaled / step : NAN);
	json_add_estimate(json, "change", change->change, 1 / step);
	json_add_estimate(json, "change_percent", change->change_ratio, 100);
	json_add_estimate(json, "change_percent_of_after_total", change->change_of_after_total,
			  100);
	json_add_estimate(json, "before_percent_of_total", change->before_share, 100);
	json_add_estimate(json, "after_percent_of_total", change->after_share, 100);
	json_stream_double(json, "p", change->p);
	json_stream_text(json, "verdict", difference_verdict_names[change->verdict]);
	json_stream_close(json, '}');
}

void difference_json_add_noise(struct json_stream *json, const size_t runs[2], double usual)
{
	bool between = runs[0] + runs[1] > 2;
	json_stream_open(json, "noise", '{', JSON_LINES);
	json_stream_bool(json, "of_sampling", true);
	json_stream_bool(json, "between_runs", between);
	json_stream_u64(json, "before_runs", runs[0]);
	json_stream_u64(json, "after_runs", runs[1]);
	json_stream_double(json, "usual_deviation_between_runs",
			   between ? sqrt(usual) : (double)NAN);
	json_stream_close(json, '}');
}
