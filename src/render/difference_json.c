#include "render/difference_json.h"

#include <math.h>

#include "render/json_value.h"

static struct json_object *cell_object(struct json_writer *writer, const struct cell *cell,
				       bool sampled, double step)
{
	struct json_object *object = json_new_object(writer);
	if (sampled)
		json_add_u64(writer, object, "samples", cell->samples);
	else
		json_add_null(writer, object, "samples");
	if (step == 1)
		json_add_u64(writer, object, "estimate", cell->estimate);
	else
		json_add_double(writer, object, "estimate", (double)cell->estimate / step);
	double error = cell_standard_error(cell);
	json_add_double(writer, object, "standard_error", error < 0 ? NAN : error / step);
	return object;
}

struct json_object *difference_json(struct json_writer *writer,
				    const struct difference_json_sides *sides,
				    const struct difference *change)
{
	double step = sides->step;
	struct json_object *object = json_new_object(writer);
	json_add(writer, object, "before",
		 cell_object(writer, &change->before, sides->before_sampled, step));
	json_add(writer, object, "after",
		 cell_object(writer, &change->after, sides->after_sampled, step));
	bool has_change = change->change.kind != ESTIMATE_ABSENT;
	json_add_double(writer, object, "before_scaled",
			has_change ? change->before_scaled / step : NAN);
	json_add_estimate(writer, object, "change", change->change, 1 / step);
	json_add_estimate(writer, object, "change_percent", change->change_ratio, 100);
	json_add_estimate(writer, object, "change_percent_of_after_total",
			  change->change_of_after_total, 100);
	json_add_estimate(writer, object, "before_percent_of_total", change->before_share, 100);
	json_add_estimate(writer, object, "after_percent_of_total", change->after_share, 100);
	json_add_double(writer, object, "p", change->p);
	json_add_text(writer, object, "verdict", difference_verdict_names[change->verdict]);
	return object;
}
