/* Machine tables, and the texts by which profiles name processors (the first line). */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "pipelines/pipeline.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_table(struct span text)
{
	struct pipeline pipeline;
	struct error err;
	if (pipeline_parse(text, "fuzz", &pipeline, &err) < 0)
		return;
	for (unsigned row = 0; row < PIPELINE_ROWS; row++)
		if (pipeline.work[row].busy_cycles == 0 ||
		    pipeline.work[row].units >> pipeline.unit_count)
			abort();
	if (pipeline.issue_width < 1 || pipeline.issue_width > PIPELINE_MAX_WIDTH)
		abort();
}

static void check_name(const struct pipelines *pipelines, struct span text)
{
	struct pipeline_choice choice =
		pipelines_for(pipelines, span_of_text("GenuineIntel"), text);
	if (!choice.pipeline || !memchr(choice.note, 0, sizeof(choice.note)))
		abort();
	pipelines_for(pipelines, text, text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct pipelines *pipelines;
	if (!pipelines && pipelines_new(&pipelines, NULL) < 0)
		return 0;
	const uint8_t *end = size ? memchr(data, '\n', size) : NULL;
	check_table((struct span){ data, size });
	check_name(pipelines, (struct span){ data, end ? (size_t)(end - data) : size });
	return 0;
}
