#include <errno.h>
#include <fnmatch.h>
#include <string.h>

#include "base/number.h"
#include "machine/event_names.h"
#include "machine/event_private.h"

static void set_named(struct written_event *written, const struct event_name *known, uint32_t type,
		      enum event_kind kind)
{
	written->event.attr.type = type;
	written->event.attr.config = known->config;
	written->event.kind = kind;
	written->event.cycles = known->cycles;
	written->event.clock = known->clock;
	written->event.unit = known->unit;
	written->any_core = kind == EVENT_HARDWARE;
}

/* "r" and up to 16 hexadecimal digits. */
static bool parse_raw(const char *name, uint64_t *config)
{
	char number[20] = "0x";
	size_t digits = strlen(name) - (name[0] == 'r');
	if (name[0] != 'r' || digits == 0 || digits > 16 ||
	    strspn(name + 1, "0123456789abcdefABCDEF") != digits)
		return false;
	memcpy(number + 2, name + 1, digits + 1);
	return number_parse_u64(number, config);
}

static const struct pmu *core_with_event(const struct pmu_list *pmus, const char *name)
{
	const struct pmu *pmu;
	for (size_t n = 0; (pmu = pmu_core(pmus, n)); n++)
		if (pmu_find_event(pmu, name))
			return pmu;
	return NULL;
}

bool event_lookup_plain(const struct event_parser *parser, const char *name,
			struct written_event *written)
{
	struct event *event = &written->event;
	const struct event_name *known = hardware_name_find(name);
	if (known) {
		set_named(written, known, PERF_TYPE_HARDWARE, EVENT_HARDWARE);
		return true;
	}
	known = software_name_find(name);
	if (known) {
		set_named(written, known, PERF_TYPE_SOFTWARE, EVENT_SOFTWARE);
		return true;
	}
	uint64_t config;
	if (cache_name_parse(name, &config)) {
		event->attr.config = config;
		event->attr.type = PERF_TYPE_HW_CACHE;
		event->kind = EVENT_CACHE;
		event->unit = event->attr.config >> 16 ? "misses" : "accesses";
		written->any_core = true;
		return true;
	}
	if (parse_raw(name, &config)) {
		event->attr.config = config;
		event->attr.type = PERF_TYPE_RAW;
		event->kind = EVENT_RAW;
		written->any_core = true;
		return true;
	}
	const struct pmu *core = core_with_event(parser->pmus, name);
	if (core) {
		event->kind = EVENT_PMU;
		written->bare = pmu_find_event(core, name)->name;
		written->any_core = true;
		return true;
	}
	return false;
}

int event_lookup_by_namer(const struct event_parser *parser, const char *name,
			  struct written_event *written, struct error *err)
{
	struct event_encoding encoding;
	int status = parser->namer->encode(parser->namer->names, name, &encoding, err);
	if (status)
		return status;
	struct event *event = &written->event;
	event->kind = EVENT_PFM;
	event->attr.type = encoding.type;
	event->attr.config = encoding.config;
	event->attr.config1 = encoding.config1;
	event->attr.config2 = encoding.config2;
	event->attr.precise_ip = encoding.precise & 3;
	if (encoding.exclude_user != encoding.exclude_kernel) {
		event->attr.exclude_user = encoding.exclude_user;
		event->attr.exclude_kernel = encoding.exclude_kernel;
		event->attr.exclude_hv = 1;
	}
	/* RAW is the core PMU of the CPU the event is opened on. */
	written->any_core = encoding.type == PERF_TYPE_RAW;
	written->pmu = written->any_core ? NULL : pmu_find_type(parser->pmus, encoding.type);
	return 0;
}

static int offer(void *context, const char *name)
{
	suggestion_offer(context, name);
	return 0;
}

static void suggest(const struct event_parser *parser, const char *name,
		    struct suggestion *suggestion)
{
	suggestion_init(suggestion, name);
	for (size_t i = 0; i < hardware_name_count; i++) {
		suggestion_offer(suggestion, hardware_names[i].name);
		if (hardware_names[i].alias)
			suggestion_offer(suggestion, hardware_names[i].alias);
	}
	for (size_t i = 0; i < software_name_count; i++)
		suggestion_offer(suggestion, software_names[i].name);
	char cache[CACHE_NAME_SIZE], description[64];
	uint64_t config;
	for (size_t i = 0; cache_name_at(i, cache, &config, description, sizeof(description)); i++)
		suggestion_offer(suggestion, cache);
	const struct pmu *pmu;
	for (size_t n = 0; (pmu = pmu_core(parser->pmus, n)); n++)
		for (size_t i = 0; i < pmu->event_count; i++)
			suggestion_offer(suggestion, pmu->events[i].name);
	if (parser->namer)
		parser->namer->each(parser->namer->names, offer, suggestion);
}

int event_lookup_failed(const struct event_parser *parser, const struct written_event *written,
			const char *name)
{
	struct suggestion suggestion;
	suggest(parser, name, &suggestion);
	if (suggestion.nearest[0])
		return event_parse_error(parser, -ENOENT, written->at,
					 "unknown event '%s'; did you mean '%s'?", name,
					 suggestion.nearest);
	return event_parse_error(parser, -ENOENT, written->at, "unknown event '%s'", name);
}

/* Whether `name` is what was written, a pattern of it, or it with a number behind ("uncore_imc_0").
 */
static bool stands_for(const char *written, const char *name)
{
	size_t length = strlen(written);
	if (fnmatch(written, name, 0) == 0)
		return true;
	if (strncmp(name, "uncore_", 7) == 0 && strncmp(written, "uncore_", 7) != 0 &&
	    stands_for(written, name + 7))
		return true;
	if (strncmp(written, name, length) != 0 || name[length] != '_')
		return false;
	const char *number = name + length + 1;
	return *number && number[strspn(number, "0123456789")] == 0;
}

int event_lookup_pmus(const struct event_parser *parser, const char *name,
		      struct written_event *written)
{
	written->pmu = pmu_find(parser->pmus, name);
	if (written->pmu)
		return 0;
	for (size_t i = 0; i < parser->pmus->count; i++) {
		const struct pmu *pmu = &parser->pmus->pmus[i];
		if (!stands_for(name, pmu->name))
			continue;
		if (!written->pmu)
			written->pmu = pmu;
		else if (written->alike_count < sizeof(written->alike) / sizeof(written->alike[0]))
			written->alike[written->alike_count++] = pmu;
		else
			return event_parse_error(parser, -EINVAL, written->at,
						 "'%s' stands for more than %zu PMUs", name,
						 written->alike_count + 1);
	}
	if (written->pmu)
		return 0;
	struct suggestion suggestion;
	suggestion_init(&suggestion, name);
	for (size_t i = 0; i < parser->pmus->count; i++)
		suggestion_offer(&suggestion, parser->pmus->pmus[i].name);
	if (suggestion.nearest[0])
		return event_parse_error(parser, -ENOENT, written->at,
					 "this machine has no PMU '%s'; did you mean '%s'?", name,
					 suggestion.nearest);
	if (!pmu_core(parser->pmus, 0) && strncmp(name, "cpu", 3) == 0)
		return event_parse_error(parser, -ENOENT, written->at,
					 "this machine has no PMU '%s': no hardware counters are "
					 "here",
					 name);
	return event_parse_error(parser, -ENOENT, written->at, "this machine has no PMU '%s'",
				 name);
}
