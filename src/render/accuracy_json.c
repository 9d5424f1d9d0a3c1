#include <math.h>

#include "analyze/cycles/estimate_words.h"
#include "base/json_stream.h"
#include "render/accuracy_text.h"

static void add_shares(struct json_stream *json, const char *key, const double *parts, size_t count,
		       double whole)
{
	json_stream_open(json, key, '[', JSON_ONE_LINE);
	for (size_t i = 0; i < count; i++)
		json_stream_double(json, NULL, whole > 0 ? parts[i] / whole : NAN);
	json_stream_close(json, ']');
}

/* Shares of the sum's own weight. */
static void add_sum(struct json_stream *json, const char *key, const char *what,
		    const struct accuracy_sum *sum)
{
	json_stream_open(json, key, '{', JSON_ONE_LINE);
	json_stream_u64(json, what, sum->count);
	json_stream_double(json, "weight", sum->weight);
	add_shares(json, "within_5_10_15_percent", sum->within, ACCURACY_LIMITS, sum->weight);
	json_stream_double(json, "unknown", sum->weight > 0 ? sum->unknown / sum->weight : NAN);
	json_stream_close(json, '}');
}

static void add_sums(struct json_stream *json, const char *key, const char *what,
		     const struct accuracy_sum *whole, const struct accuracy_sum *classes)
{
	json_stream_open(json, key, '{', JSON_LINES);
	add_sum(json, "all", what, whole);
	for (size_t c = ACCURACY_CLASSES; c-- > 0;)
		add_sum(json, frequency_confidence_word((enum frequency_confidence)c), what,
			&classes[c]);
	add_shares(json, "histogram", whole->buckets, ACCURACY_BUCKETS, whole->weight);
	json_stream_close(json, '}');
}

static void add_samples(struct json_stream *json, const struct accuracy *accuracy)
{
	json_stream_open(json, "samples", '{', JSON_LINES);
	json_stream_double(json, "all", accuracy->samples);
	json_stream_double(json, "judged", accuracy->instructions.weight);
	json_stream_double(json, "of_images_not_counted", accuracy->not_counted);
	json_stream_double(json, "without_code", accuracy->no_code);
	json_stream_double(json, "never_executed", accuracy->never_executed);
	json_stream_double(json, "at_no_instruction", accuracy->no_block);
	json_stream_double(json, "of_string_instructions", accuracy->uncountable);
	json_stream_close(json, '}');
}

static void add_intervals(struct json_stream *json, const struct accuracy *accuracy)
{
	const struct accuracy_intervals *intervals = &accuracy->intervals;
	json_stream_open(json, "intervals", '{', JSON_LINES);
	json_stream_u64(json, "blocks", intervals->count);
	json_stream_double(json, "held",
			   intervals->count ? (double)intervals->held / (double)intervals->count
					    : NAN);
	json_stream_double(json, "held_by_samples",
			   intervals->weight > 0 ? intervals->held_weight / intervals->weight
						 : NAN);
	json_stream_double(json, "mean_width", intervals->width);
	json_stream_close(json, '}');
	json_stream_open(json, "off_by_more_than_15_percent", '{', JSON_LINES);
	json_stream_double(json, "share", accuracy->off_weight / accuracy->instructions.weight);
	json_stream_double(json, "of_these_low",
			   accuracy->off_weight > 0 ? accuracy->off_low / accuracy->off_weight
						    : NAN);
	json_stream_close(json, '}');
}

static void add_causes(struct json_stream *json, const struct accuracy *accuracy)
{
	json_stream_open(json, "causes", '[', JSON_LINES);
	for (size_t c = 0; c < accuracy->cause_count; c++) {
		const struct accuracy_cause *cause = &accuracy->causes[c];
		json_stream_open(json, NULL, '{', JSON_LINES);
		json_stream_text(json, "cause", cause->key);
		json_stream_text(json, "events", cause->events);
		json_stream_u64(json, "procedures", cause->procedures);
		json_stream_double(json, "counted", cause->counted);
		json_stream_double(json, "low_cycles", cause->low_cycles);
		json_stream_double(json, "high_cycles", cause->high_cycles);
		json_stream_double(json, "pearson", cause->pearson);
		json_stream_double(json, "pearson_low", cause->pearson_low);
		json_stream_double(json, "pearson_high", cause->pearson_high);
		json_stream_double(json, "spearman", cause->spearman);
		json_stream_close(json, '}');
	}
	json_stream_close(json, ']');
}

static void add_procedures(struct json_stream *json, const struct accuracy *accuracy)
{
	json_stream_open(json, "procedures", '[', JSON_LINES);
	for (size_t i = 0; i < accuracy->procedure_count; i++) {
		const struct accuracy_procedure *procedure = &accuracy->procedures[i];
		const struct procedure *names = procedure->procedure->procedure;
		json_stream_open(json, NULL, '{', JSON_LINES);
		json_stream_text(json, "image", procedure->procedure->image_name);
		json_stream_text(json, "procedure", names->name);
		json_stream_hex(json, "first_vaddr", names->first);
		json_stream_double(json, "samples", procedure->samples);
		json_stream_double(json, "factor", procedure->factor);
		add_sum(json, "instructions", "blocks", &procedure->instructions);
		add_sum(json, "edges", "edges", &procedure->edges);
		json_stream_close(json, '}');
	}
	json_stream_close(json, ']');
}

void accuracy_json_print(const struct accuracy *accuracy, const struct cycles *cycles,
			 const struct accuracy_look *look, struct buffer *out)
{
	struct json_stream json = { .out = out };
	const char *const *notes;
	size_t count = cycles_notes(cycles, &notes);
	json_stream_open(&json, NULL, '{', JSON_LINES);
	json_stream_u64(&json, "schema", 1);
	json_stream_text(&json, "profile", look->title);
	json_stream_text(&json, "truth", look->truth_title);
	json_stream_text(&json, "event", look->event);
	json_stream_text(&json, "processor", cycles_pipeline(cycles)->pipeline->name);
	json_stream_text(&json, "scale", accuracy_scale_name(accuracy->request.scale));
	json_stream_double(&json, "runs", accuracy->request.runs);
	json_stream_texts(&json, "notes", notes, count);
	add_samples(&json, accuracy);
	add_sums(&json, "instructions", "blocks", &accuracy->instructions,
		 accuracy->instruction_classes);
	add_sums(&json, "edges", "edges", &accuracy->edges, accuracy->edge_classes);
	json_stream_double(&json, "executions_of_unknown_edges", accuracy->missing_edges);
	add_intervals(&json, accuracy);
	add_causes(&json, accuracy);
	add_procedures(&json, accuracy);
	json_stream_end(&json, '}');
}
