/* Files of names of a user's own, some of which stand for others. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "count/definitions.h"
#include "machine/pmu.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct pmu_format formats[] = {
	{ "event", PMU_CONFIG, 0xff },
	{ "umask", PMU_CONFIG, 0xff00 },
};
static struct pmu pmus[] = {
	{ .name = "cpu", .type = 4, .core = true, .formats = formats, .format_count = 2 },
	{ .name = "software", .type = 1 },
};

/* What was defined can be had. */
static int encode(void *context, const char *name)
{
	const struct event_namer *namer = context;
	struct event_encoding encoding;
	struct error err = { 0 };
	if (namer->encode(namer->names, name, &encoding, &err))
		abort();
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct pmu_list list = { .pmus = pmus, .count = sizeof(pmus) / sizeof(pmus[0]) };
	struct definitions *definitions = NULL;
	struct error err = { 0 };
	int status = definitions_parse((const char *)data, size, "fuzz", &list, NULL, &definitions,
				       &err);
	if (status ? err.code != status || definitions : !definitions)
		abort();
	if (definitions) {
		const struct event_namer *namer = definitions_namer(definitions);
		if (namer->each(namer->names, encode, (void *)namer))
			abort();
	}
	definitions_free(definitions);
	return 0;
}
