/* Files of definitions, on a hybrid machine: each name that is taken is one event, which is what
 * its text is. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "count/definitions.h"
#include "machine/event.h"
#include "machine/pmu.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct pmu_format formats[] = {
	{ "event", PMU_CONFIG, 0xff },
	{ "umask", PMU_CONFIG, 0xff00 },
	{ "far", PMU_CONFIG1, UINT64_MAX },
};
static struct pmu pmus[] = {
	{ .name = "cpu_atom", .type = 10, .core = true, .formats = formats, .format_count = 3 },
	{ .name = "cpu_core", .type = 4, .core = true, .formats = formats, .format_count = 3 },
	{ .name = "software", .type = 1 },
	{ .name = "uncore_imc", .type = 12, .uncore = true, .formats = formats, .format_count = 3 },
};

struct check {
	const struct pmu_list *pmus;
	const struct event_namer *namer;
};

static int check_name(void *context, const char *name)
{
	const struct check *check = context;
	struct event_list list = { 0 };
	struct event_encoding encoding;
	struct error err = { 0 };
	if (check->namer->encode(check->namer->names, name, &encoding, &err))
		abort();
	int status = event_list_parse(&list, check->pmus, check->namer, name, &err);
	if (status == 0 && (list.count == 0 || list.events[0].attr.config1 != encoding.config1))
		abort();
	event_list_release(&list);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct pmu_list list = { .pmus = pmus, .count = sizeof(pmus) / sizeof(pmus[0]) };
	struct definitions *definitions = NULL;
	struct error err = { 0 };
	int status = definitions_parse(size ? (const char *)data : "", size, "fuzzed", &list, NULL,
				       &definitions, &err);
	if (status ? definitions || err.code != status || !err.text[0] : !definitions)
		abort();
	if (status == 0) {
		struct check check = { &list, definitions_namer(definitions) };
		if (check.namer->each(check.namer->names, check_name, &check))
			abort();
	}
	definitions_free(definitions);
	return 0;
}
