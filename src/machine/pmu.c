#include "machine/pmu.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/c_locale.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/number.h"
#include "machine/machine_root.h"

#define DEVICES "sys/bus/event_source/devices"

static bool take_bit(const char *text, size_t *at, unsigned int *bit)
{
	size_t start = *at;
	unsigned int value = 0;
	while (text[*at] >= '0' && text[*at] <= '9' && *at - start < 3)
		value = value * 10 + (unsigned int)(text[(*at)++] - '0');
	*bit = value;
	return *at > start && value < 64;
}

bool pmu_format_parse(const char *text, struct pmu_format *format)
{
	static const char *const words[PMU_WORDS] = { "config", "config1", "config2", "config3" };
	size_t at = strcspn(text, ":");
	size_t word = 0;
	while (word < PMU_WORDS &&
	       (strlen(words[word]) != at || strncmp(text, words[word], at) != 0))
		word++;
	if (word == PMU_WORDS || text[at] != ':')
		return false;
	uint64_t mask = 0;
	do {
		unsigned int first, last;
		at++;
		if (!take_bit(text, &at, &first))
			return false;
		last = first;
		if (text[at] == '-') {
			at++;
			if (!take_bit(text, &at, &last) || last < first)
				return false;
		}
		/* A set of bits: perf too fills them from the lowest, in whatever order they stand.
		 */
		mask |= (UINT64_MAX >> (63 - (last - first))) << first;
	} while (text[at] == ',');
	if (text[at + strspn(text + at, " \n")] != 0)
		return false;
	format->word = (enum pmu_word)word;
	format->mask = mask;
	return true;
}

bool pmu_format_apply(const struct pmu_format *format, uint64_t value, uint64_t *words)
{
	uint64_t placed = 0;
	for (uint64_t left = format->mask; left; left &= left - 1) {
		if (value & 1)
			placed |= left & -left;
		value >>= 1;
	}
	if (value)
		return false;
	words[format->word] = (words[format->word] & ~format->mask) | placed;
	return true;
}

/* One folder of a PMU while it is read. */
struct reading {
	const struct machine_root *root;
	struct pmu_list *list;
	struct pmu *pmu;
	void *rows;
	size_t count, capacity;
	int lack; /* -ENOMEM, -EMFILE or -ENFILE kept something from being read */
};

static bool is_lack(int status)
{
	return status == -ENOMEM || status == -EMFILE || status == -ENFILE;
}

static void note_lack(struct reading *reading, int status)
{
	if (is_lack(status))
		reading->lack = status;
}

/* The text of a small file of the PMU without its final newline, in the list's arena; NULL when
 * unreadable. */
static const char *read_value(struct reading *reading, const char *path)
{
	CLEANUP(buffer_release) struct buffer text = { 0 };
	int status = root_read_text(reading->root, path, &text);
	const char *start = buffer_text(&text), *copy = NULL;
	if (status == 0) { /* buffer_text() may have failed, too */
		copy = buffer_failed(&text) ? NULL
					    : arena_copy_text(&reading->list->arena, start,
							      strcspn(start, "\n"));
		status = copy ? 0 : -ENOMEM;
	}
	note_lack(reading, status);
	return copy;
}

static int visit_format(void *context, const char *name)
{
	struct reading *reading = context;
	struct pmu_format format = { 0 };
	const char *text = read_value(
		reading, root_path(DEVICES "/%s/format/%s", reading->pmu->name, name).text);
	if (!text || !pmu_format_parse(text, &format)) {
		reading->list->unreadable++;
		return 0;
	}
	format.name = arena_copy_text(&reading->list->arena, name, strlen(name));
	if (!format.name ||
	    array_reserve(&reading->rows, &reading->capacity, reading->count, sizeof(format)))
		return -ENOMEM;
	((struct pmu_format *)reading->rows)[reading->count++] = format;
	return 0;
}

static bool ends_with(const char *name, const char *end)
{
	size_t length = strlen(name), tail = strlen(end);
	return length > tail && strcmp(name + length - tail, end) == 0;
}

/* NAME.scale, NAME.unit and the like describe NAME. */
static bool is_attribute_of_event(const char *name)
{
	return ends_with(name, ".scale") || ends_with(name, ".unit") ||
	       ends_with(name, ".per-pkg") || ends_with(name, ".snapshot");
}

static int visit_event(void *context, const char *name)
{
	struct reading *reading = context;
	const char *pmu = reading->pmu->name;
	if (is_attribute_of_event(name))
		return 0;
	struct pmu_event event = { .unit = "", .scale = 1 };
	event.terms = read_value(reading, root_path(DEVICES "/%s/events/%s", pmu, name).text);
	if (!event.terms) {
		reading->list->unreadable++;
		return 0;
	}
	const char *unit =
		read_value(reading, root_path(DEVICES "/%s/events/%s.unit", pmu, name).text);
	const char *scale =
		read_value(reading, root_path(DEVICES "/%s/events/%s.scale", pmu, name).text);
	if (unit)
		event.unit = unit;
	/* The kernel writes "2.3283064365386962890625e-10"; strtod_l takes it whole. */
	char *end = NULL;
	double factor = scale ? strtod_l(scale, &end, c_locale()) : 1;
	if (scale && (end == scale || *end || !(factor > 0)))
		reading->list->unreadable++;
	else
		event.scale = factor;
	event.name = arena_copy_text(&reading->list->arena, name, strlen(name));
	if (!event.name ||
	    array_reserve(&reading->rows, &reading->capacity, reading->count, sizeof(event)))
		return -ENOMEM;
	((struct pmu_event *)reading->rows)[reading->count++] = event;
	return 0;
}

static int visit_cap(void *context, const char *name)
{
	struct reading *reading = context;
	struct pmu_cap cap;
	cap.value = read_value(reading,
			       root_path(DEVICES "/%s/caps/%s", reading->pmu->name, name).text);
	if (!cap.value)
		return 0;
	cap.name = arena_copy_text(&reading->list->arena, name, strlen(name));
	if (!cap.name ||
	    array_reserve(&reading->rows, &reading->capacity, reading->count, sizeof(cap)))
		return -ENOMEM;
	((struct pmu_cap *)reading->rows)[reading->count++] = cap;
	return 0;
}

/*
 * Visits a folder of the PMU and moves the rows into the arena. A folder that
 * is not there has no rows.
 */
static int read_folder(struct reading *reading, const char *folder, root_visit visit,
		       size_t row_size, const void **rows, size_t *count)
{
	struct root_path path = root_path(DEVICES "/%s/%s", reading->pmu->name, folder);
	reading->rows = NULL;
	reading->count = reading->capacity = 0;
	int status = root_list(reading->root, path.text, visit, reading);
	status = reading->lack ? reading->lack : is_lack(status) ? status : 0;
	if (!status && reading->count) {
		void *kept = arena_allocate(&reading->list->arena, reading->count * row_size);
		if (kept)
			memcpy(kept, reading->rows, reading->count * row_size);
		else
			status = -ENOMEM;
		*rows = kept;
		*count = kept ? reading->count : 0;
	}
	free(reading->rows);
	reading->rows = NULL;
	return status;
}

static void read_cpus(struct reading *reading)
{
	struct pmu *pmu = reading->pmu;
	int status = root_read_cpus(reading->root, root_path(DEVICES "/%s/cpus", pmu->name).text,
				    &pmu->cpus);
	note_lack(reading, status);
	if (status == 0) {
		pmu->has_cpus = pmu->core = true;
		return;
	}
	pmu->core = strcmp(pmu->name, "cpu") == 0;
	/* arm_spe and the like list the CPUs they work on; they follow tasks all the same. */
	bool follows_tasks = strncmp(pmu->name, "arm_spe", 7) == 0;
	status = root_read_cpus(reading->root, root_path(DEVICES "/%s/cpumask", pmu->name).text,
				&pmu->cpus);
	note_lack(reading, status);
	if (status == 0) {
		pmu->has_cpus = true;
		pmu->uncore = !follows_tasks;
	}
}

static int visit_device(void *context, const char *name)
{
	struct reading *reading = context;
	struct pmu_list *list = reading->list;
	struct pmu pmu = { 0 };
	uint64_t type;
	int status = root_read_u64(reading->root, root_path(DEVICES "/%s/type", name).text, &type);
	if (is_lack(status))
		return status;
	if (status || type > UINT32_MAX) {
		list->unreadable++;
		return 0;
	}
	pmu.name = arena_copy_text(&list->arena, name, strlen(name));
	if (!pmu.name)
		return -ENOMEM;
	pmu.type = (uint32_t)type;
	reading->pmu = &pmu;
	read_cpus(reading);
	status = read_folder(reading, "format", visit_format, sizeof(struct pmu_format),
			     (const void **)&pmu.formats, &pmu.format_count);
	if (!status)
		status = read_folder(reading, "events", visit_event, sizeof(struct pmu_event),
				     (const void **)&pmu.events, &pmu.event_count);
	if (!status)
		status = read_folder(reading, "caps", visit_cap, sizeof(struct pmu_cap),
				     (const void **)&pmu.caps, &pmu.cap_count);
	if (status)
		return status;
	struct pmu *grown = realloc(list->pmus, (list->count + 1) * sizeof(pmu));
	if (!grown)
		return -ENOMEM;
	list->pmus = grown;
	list->pmus[list->count++] = pmu;
	return 0;
}

int pmu_list_read(const struct machine_root *root, struct pmu_list *list, struct error *err)
{
	struct reading reading = { .root = root, .list = list };
	*list = (struct pmu_list){ 0 };
	int status = root_list(root, DEVICES, visit_device, &reading);
	if (!status)
		return 0;
	pmu_list_release(list);
	return error_set(err, status, "cannot read the list of PMUs in '/%s': %s", DEVICES,
			 strerror(-status));
}

int pmu_list_read_if_any(const struct machine_root *root, struct pmu_list *list, struct error *err)
{
	int status = pmu_list_read(root, list, err);
	return is_lack(status) ? status : 0;
}

void pmu_list_release(struct pmu_list *list)
{
	free(list->pmus);
	arena_release(&list->arena);
	*list = (struct pmu_list){ 0 };
}

const struct pmu *pmu_find(const struct pmu_list *list, const char *name)
{
	for (size_t i = 0; i < list->count; i++)
		if (strcmp(list->pmus[i].name, name) == 0)
			return &list->pmus[i];
	return NULL;
}

const struct pmu *pmu_find_type(const struct pmu_list *list, uint32_t type)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->pmus[i].type == type)
			return &list->pmus[i];
	return NULL;
}

const struct pmu_event *pmu_find_event(const struct pmu *pmu, const char *name)
{
	for (size_t i = 0; i < pmu->event_count; i++)
		if (strcasecmp(pmu->events[i].name, name) == 0)
			return &pmu->events[i];
	return NULL;
}

const struct pmu_format *pmu_find_format(const struct pmu *pmu, const char *name)
{
	for (size_t i = 0; i < pmu->format_count; i++)
		if (strcmp(pmu->formats[i].name, name) == 0)
			return &pmu->formats[i];
	return NULL;
}

const char *pmu_cap(const struct pmu *pmu, const char *name)
{
	for (size_t i = 0; i < pmu->cap_count; i++)
		if (strcmp(pmu->caps[i].name, name) == 0)
			return pmu->caps[i].value;
	return NULL;
}

const struct pmu *pmu_core(const struct pmu_list *list, size_t n)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->pmus[i].core && n-- == 0)
			return &list->pmus[i];
	return NULL;
}
