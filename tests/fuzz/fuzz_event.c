/* Event lists as a user writes them, for a hybrid machine with an uncore PMU. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "machine/event.h"
#include "machine/pmu.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct pmu_format formats[] = {
	{ "event", PMU_CONFIG, 0xff },
	{ "umask", PMU_CONFIG, 0xff00 },
	{ "split", PMU_CONFIG, 0xf000000ff },
	{ "far", PMU_CONFIG1, UINT64_MAX },
	{ "bit", PMU_CONFIG2, 1 },
	{ "beyond", PMU_CONFIG3, 0xf },
};
static const struct pmu_event events[] = {
	{ "slots", "event=0x0,umask=0x4", "", 1 },
	{ "topdown-retiring", "event=0x0,umask=0x80", "", 1 },
	{ "loop", "loop", "", 1 },
	{ "open", "event=0x1,umask=?", "", 1 },
	{ "energy", "event=2", "Joules", 2.5e-10 },
};
static struct pmu pmus[] = {
	{ .name = "cpu_atom",
	  .type = 10,
	  .core = true,
	  .formats = formats,
	  .format_count = 6,
	  .events = events,
	  .event_count = 5 },
	{ .name = "cpu_core", .type = 4, .core = true, .formats = formats, .format_count = 6 },
	{ .name = "software", .type = 1 },
	{ .name = "uncore_imc_0",
	  .type = 12,
	  .uncore = true,
	  .formats = formats,
	  .format_count = 6 },
	{ .name = "uncore_imc_1",
	  .type = 13,
	  .uncore = true,
	  .formats = formats,
	  .format_count = 6 },
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct pmu_list list = { .pmus = pmus, .count = sizeof(pmus) / sizeof(pmus[0]) };
	struct event_list parsed = { 0 };
	struct error err = { 0 };
	char spelling[256];
	char *text = malloc(size + 1);
	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = 0;
	int status = event_list_parse(&parsed, &list, NULL, text, &err);
	if (status ? parsed.count != 0 || err.code != status : parsed.count == 0)
		abort();
	for (size_t i = 0; i < parsed.count; i++) {
		const struct event *event = &parsed.events[i];
		if (event->leader > i || !event->name || !event->unit || !event->pmu)
			abort();
		event_format_perf(event, spelling, sizeof(spelling));
		size_t sampled;
		if (event_list_sampled(&parsed, event->leader, &sampled, &err) == 0 &&
		    (sampled < event->leader || parsed.events[sampled].leader != event->leader))
			abort();
	}
	event_list_release(&parsed);
	free(text);
	return 0;
}
