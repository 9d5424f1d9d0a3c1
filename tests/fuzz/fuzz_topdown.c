/* Tables of data/topdown: what is accepted can be computed. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "machine/topdown.h"
#include "machine/topdown_method.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void compute(const struct topdown_method *method)
{
	struct topdown_count counts[TOPDOWN_EVENTS];
	struct topdown topdown;
	for (size_t i = 0; i < TOPDOWN_EVENTS; i++)
		counts[i] = (struct topdown_count){ .known = i % 7 != 6,
						    .value = i % 3 * 1000,
						    .enabled_ns = 100,
						    .running_ns = i % 5 ? 100 : 50 };
	if (method->event_count > TOPDOWN_EVENTS)
		abort();
	topdown_of_counts(method, counts, &topdown);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct topdown_method *method = malloc(sizeof(*method));
	uint8_t *text = malloc(size + 1);
	struct error err = { 0 };
	if (!method || !text)
		abort();
	if (size)
		memcpy(text, data, size);
	int status = topdown_method_parse((struct span){ text, size }, "t", FACT_YES, method, &err);
	if (status ? err.code != status || !err.text[0] : err.code != 0)
		abort();
	if (status == 0)
		compute(method);
	free(text);
	free(method);
	return 0;
}
