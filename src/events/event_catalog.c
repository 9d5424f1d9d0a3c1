#include "events/event_catalog.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/number.h"
#include "events/pfm_names.h"
#include "machine/event_names.h"
#include "machine/pmu.h"
#include "machine/probe.h"

static uint64_t event_number(const struct pmu_event *event)
{
	char number[24];
	uint64_t value;
	if (strncmp(event->terms, "event=", 6) != 0)
		return UINT64_MAX;
	snprintf(number, sizeof(number), "%.*s", (int)strcspn(event->terms + 6, ","),
		 event->terms + 6);
	return number_parse_u64(number, &value) ? value : UINT64_MAX;
}

/*
 * Arm's registers PMCEID say which of the common events (0 to 0x3f and 0x4000 to
 * 0x403f) are there, and the driver shows no others in sysfs (arm_pmuv3.c,
 * armv8pmu_event_attr_is_visible); it opens all of them.
 */
static bool is_missing_on_arm(const struct pmu_list *pmus, const struct event *event)
{
	bool numbered =
		event->kind == EVENT_RAW || event->kind == EVENT_PMU || event->kind == EVENT_PFM;
	const struct pmu *pmu = pmu_find(pmus, event->pmu);
	uint64_t number = event->attr.config;
	if (!numbered || !pmu || !pmu->event_count || strncmp(pmu->name, "armv", 4) != 0 ||
	    (number & ~UINT64_C(0x4000)) > 0x3f)
		return false;
	for (size_t i = 0; i < pmu->event_count; i++)
		if (event_number(&pmu->events[i]) == number)
			return false;
	return true;
}

int event_try(const struct pmu_list *pmus, const struct event *event)
{
	if (is_missing_on_arm(pmus, event))
		return -ENOENT;
	struct perf_event_attr attr = event->attr;
	size_t first = event->has_cpus ? cpu_set_next(&event->cpus, 0) : 0;
	int cpu = event->uncore && first < CPU_SET_LIMIT ? (int)first : -1;
	attr.disabled = 1;
	int code = probe_open(&attr, cpu);
	if ((code == -EACCES || code == -EPERM) && !attr.exclude_user &&
	    !event_is_kernel_only(&attr) && cpu < 0) {
		attr.exclude_kernel = attr.exclude_hv = 1;
		code = probe_open(&attr, cpu);
	}
	return code;
}

struct reading {
	struct event_catalog *catalog;
	const struct pmu_list *pmus;
};

static const char *keep(struct reading *reading, const char *text)
{
	return arena_copy_text(&reading->catalog->arena, text, strlen(text));
}

static int add_item(struct reading *reading, const struct catalog_item *item)
{
	struct event_catalog *catalog = reading->catalog;
	struct catalog_item kept = *item;
	kept.pmu = keep(reading, item->pmu ? item->pmu : "");
	kept.name = keep(reading, item->name);
	kept.alias = keep(reading, item->alias ? item->alias : "");
	kept.description = keep(reading, item->description);
	kept.detail = keep(reading, item->detail ? item->detail : "");
	if (!kept.detail || !kept.pmu || !kept.name || !kept.alias || !kept.description ||
	    array_reserve(&catalog->items, &catalog->capacity, catalog->count, sizeof(kept)))
		return -ENOMEM;
	catalog->items[catalog->count++] = kept;
	return 0;
}

/* Parses `text` and opens the event; with several core types it is enough that one counts. */
static int try_text(struct reading *reading, const char *text, const struct event_namer *namer,
		    struct catalog_item *item)
{
	struct event_list list = { 0 };
	int status = event_list_parse(&list, reading->pmus, namer, text, NULL);
	item->code = status ? status : -ENOENT;
	for (size_t i = 0; !status && i < list.count; i++) {
		int code = event_try(reading->pmus, &list.events[i]);
		if (i == 0 || code == 0)
			item->code = code;
		if (i == 0)
			item->cycles = list.events[0].cycles;
	}
	event_list_release(&list);
	return status == -ENOMEM ? status : 0;
}

static int read_named(struct reading *reading, const struct event_name *names, size_t count,
		      enum catalog_section section)
{
	int status = 0;
	for (size_t i = 0; !status && i < count; i++) {
		struct catalog_item item = { .section = section,
					     .name = names[i].name,
					     .alias = names[i].alias,
					     .description = names[i].description };
		status = try_text(reading, names[i].name, NULL, &item);
		if (!status)
			status = add_item(reading, &item);
	}
	return status;
}

static int read_caches(struct reading *reading)
{
	char name[CACHE_NAME_SIZE], description[128];
	uint64_t config;
	int status = 0;
	for (size_t i = 0;
	     !status && cache_name_at(i, name, &config, description, sizeof(description)); i++) {
		struct catalog_item item = { .section = CATALOG_CACHE,
					     .name = name,
					     .description = description };
		status = try_text(reading, name, NULL, &item);
		if (!status)
			status = add_item(reading, &item);
	}
	return status;
}

/* Adds the forms in which a PMU's event numbers can be written: its fields. */
static int read_patterns(struct reading *reading)
{
	struct catalog_item raw = { .section = CATALOG_RAW,
				    .name = "rHEX",
				    .description =
					    "the core PMU's config word in hexadecimal, as r01c2",
				    .pattern = true };
	int status = add_item(reading, &raw);
	for (size_t i = 0; !status && i < reading->pmus->count; i++) {
		const struct pmu *pmu = &reading->pmus->pmus[i];
		char name[256], fields[1024] = "";
		if (!pmu->format_count)
			continue;
		snprintf(name, sizeof(name), "%s/FIELD=NUMBER,.../", pmu->name);
		for (size_t f = 0; f < pmu->format_count; f++) {
			size_t length = strlen(fields);
			snprintf(fields + length, sizeof(fields) - length, "%s%s (%d bits)",
				 f ? ", " : "fields: ", pmu->formats[f].name,
				 __builtin_popcountll(pmu->formats[f].mask));
		}
		struct catalog_item item = { .section = CATALOG_RAW,
					     .pmu = pmu->name,
					     .name = name,
					     .description = fields,
					     .pattern = true };
		status = add_item(reading, &item);
	}
	return status;
}

static int read_sysfs_event(struct reading *reading, const struct pmu *pmu,
			    const struct pmu_event *event)
{
	char name[512], description[512];
	snprintf(name, sizeof(name), "%s/%s/", pmu->name, event->name);
	if (event->unit[0])
		snprintf(description, sizeof(description), "%s, in %s", event->terms, event->unit);
	else
		snprintf(description, sizeof(description), "%s", event->terms);
	struct catalog_item item = {
		.section = CATALOG_SYSFS, .pmu = pmu->name, .name = name, .description = description
	};
	int status = 0;
	/* With terms that need a value ("core=?") the event is a pattern. */
	if (strstr(event->terms, "=?"))
		item.pattern = true;
	else
		status = try_text(reading, name, NULL, &item);
	return status ? status : add_item(reading, &item);
}

static int read_sysfs(struct reading *reading)
{
	int status = 0;
	for (size_t i = 0; !status && i < reading->pmus->count; i++) {
		const struct pmu *pmu = &reading->pmus->pmus[i];
		for (size_t e = 0; !status && e < pmu->event_count; e++)
			status = read_sysfs_event(reading, pmu, &pmu->events[e]);
	}
	return status;
}

static int visit_pfm(void *context, const struct pfm_description *description)
{
	struct reading *reading = context;
	char text[512];
	struct catalog_item item = { .section = CATALOG_PFM,
				     .pmu = description->pmu,
				     .name = description->name,
				     .description = description->description,
				     .detail = description->detail,
				     .foreign = !description->present };
	int status = 0;
	if (description->present) {
		/* With its PMU's name libpfm4 looks in one table instead of all. */
		snprintf(text, sizeof(text), "%s::%s", description->pmu, description->name);
		status = try_text(reading, text, &pfm_names, &item);
	}
	return status ? status : add_item(reading, &item);
}

int event_catalog_read(const struct pmu_list *pmus, bool all, struct event_catalog *catalog)
{
	struct reading reading = { catalog, pmus };
	*catalog = (struct event_catalog){ 0 };
	int status = read_named(&reading, hardware_names, hardware_name_count, CATALOG_HARDWARE);
	if (!status)
		status =
			read_named(&reading, software_names, software_name_count, CATALOG_SOFTWARE);
	if (!status)
		status = read_caches(&reading);
	if (!status)
		status = read_patterns(&reading);
	if (!status)
		status = read_sysfs(&reading);
	if (!status)
		status = pfm_event_list(all, visit_pfm, &reading);
	if (status)
		event_catalog_release(catalog);
	return status;
}

void event_catalog_release(struct event_catalog *catalog)
{
	free(catalog->items);
	arena_release(&catalog->arena);
	*catalog = (struct event_catalog){ 0 };
}

bool catalog_item_matches(const struct catalog_item *item, char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const char *word = words[i];
		bool fits = strpbrk(word, "*?[")
				    ? fnmatch(word, item->name, FNM_CASEFOLD) == 0 ||
					      (item->alias[0] &&
					       fnmatch(word, item->alias, FNM_CASEFOLD) == 0)
				    : strcasestr(item->name, word) ||
					      strcasestr(item->alias, word) ||
					      strcasestr(item->pmu, word) ||
					      strcasestr(item->description, word) ||
					      strcasestr(item->detail, word);
		if (!fits)
			return false;
	}
	return true;
}
