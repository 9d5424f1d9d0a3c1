#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "advice/perf_explain.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/json_stream.h"
#include "cli/events.h"
#include "cli/message.h"
#include "cli/page.h"
#include "cli/pager.h"
#include "cli/verbs.h"
#include "events/event_catalog.h"
#include "events/pfm_names.h"
#include "machine/event_names.h"
#include "machine/machine_root.h"
#include "machine/pmu.h"
#include "render/text_wrap.h"

#define NAME_WIDTH_MAX 44

const char *const event_cycles_keys[] = { [EVENT_NO_CYCLES] = NULL,
					  [EVENT_THREAD_CYCLES] = "thread",
					  [EVENT_CORE_CYCLES] = "core",
					  [EVENT_REF_CYCLES] = "ref" };

static bool json, all;

static const struct option options[] = {
	{ "all", 0, OPTION_FLAG, NULL, "libpfm4's events of every other CPU model too", &all,
	  NULL },
	{ "json", 0, OPTION_FLAG, NULL, "the same as one JSON document", &json, NULL },
	{ NULL, 0, OPTION_FLAG, NULL, NULL, NULL, NULL },
};

static const struct option *events_options(void)
{
	return options;
}

static const char *section_title(const struct catalog_item *item)
{
	switch (item->section) {
	case CATALOG_HARDWARE:
		return "hardware: generic names, for which the kernel knows the CPU's own event";
	case CATALOG_SOFTWARE:
		return "software: counted by the kernel, on every machine";
	case CATALOG_CACHE:
		return "cache: generic names";
	case CATALOG_RAW:
		return "by number: any event of a PMU's manual";
	case CATALOG_SYSFS:
		return "PMU";
	case CATALOG_PFM:
		return "libpfm4";
	}
	return "";
}

static bool same_block(const struct catalog_item *a, const struct catalog_item *b)
{
	if (a->section != b->section)
		return false;
	return (a->section != CATALOG_SYSFS && a->section != CATALOG_PFM) ||
	       strcmp(a->pmu, b->pmu) == 0;
}

/* Why opening this item failed. */
static void explain(const struct pmu_list *pmus, const struct catalog_item *item, char *text,
		    size_t size)
{
	struct event_list list = { 0 };
	struct error err;
	char name[512];
	snprintf(name, sizeof(name), "%s%s%s", item->section == CATALOG_PFM ? item->pmu : "",
		 item->section == CATALOG_PFM ? "::" : "", item->name);
	if (event_list_parse(&list, pmus, &pfm_names, name, &err))
		snprintf(text, size, "%.200s", err.text);
	else
		perf_open_explain(&list.events[0], item->code, list.events[0].uncore ? -1 : 0, -1,
				  text, size);
	event_list_release(&list);
}

/* Whether all items fail for one cause, which the heading then has. */
static bool fails_as_one(const struct catalog_item *const *items, size_t count)
{
	bool tried = false;
	for (size_t i = 0; i < count; i++) {
		if (items[i]->pattern)
			continue;
		if (items[i]->foreign || items[i]->code == 0 || items[i]->code != items[0]->code)
			return false;
		tried = true;
	}
	return tried;
}

static void put_heading(const struct pmu_list *pmus, const struct catalog_item *const *items,
			size_t count, struct buffer *out)
{
	const struct catalog_item *first = items[0];
	char cause[256] = "";
	if (fails_as_one(items, count))
		explain(pmus, first, cause, sizeof(cause));
	buffer_append_text(out, section_title(first));
	if (first->section == CATALOG_SYSFS || first->section == CATALOG_PFM)
		buffer_printf(out, " %s", first->pmu);
	if (first->foreign)
		buffer_append_text(out, " (another CPU model)");
	if (cause[0])
		buffer_printf(out, "\n(not countable here: %s)", cause);
	buffer_append_u8(out, '\n');
}

/* `before` is the item above, or NULL: a description that it has already is not repeated. */
static void put_item(const struct catalog_item *item, const struct catalog_item *before, int width,
		     struct buffer *out)
{
	char mark = item->pattern || item->foreign ? ' ' : item->code ? '-' : '+';
	buffer_printf(out, "%c %-*s  ", mark, width, item->name);
	if (strlen(item->name) > (size_t)width)
		buffer_printf(out, "\n%*s", width + 4, "");
	char text[2048];
	bool repeated =
		before && item->detail[0] && strcmp(before->description, item->description) == 0;
	snprintf(text, sizeof(text), "%s%s%s%s%s%s", repeated ? "" : item->description,
		 item->detail[0] && !repeated ? ": " : "", item->detail,
		 item->alias[0] ? " (also " : "", item->alias, item->alias[0] ? ")" : "");
	text_append_wrapped((size_t)width + 4, text, out);
}

static void put_block(const struct pmu_list *pmus, const struct catalog_item *const *items,
		      size_t count, struct buffer *out)
{
	int width = 0;
	for (size_t i = 0; i < count; i++) {
		int length = (int)strlen(items[i]->name);
		if (length > width && length <= NAME_WIDTH_MAX)
			width = length;
	}
	put_heading(pmus, items, count, out);
	for (size_t i = 0; i < count; i++)
		put_item(items[i], i ? items[i - 1] : NULL, width, out);
}

static void print_text(const struct pmu_list *pmus, const struct catalog_item *const *items,
		       size_t count)
{
	CLEANUP(buffer_release) struct buffer out = { 0 };
	buffer_append_text(&out, "+ opens on this machine, - does not\n");
	for (size_t i = 0; i < count;) {
		size_t end = i + 1;
		while (end < count && same_block(items[i], items[end]))
			end++;
		buffer_append_u8(&out, '\n');
		put_block(pmus, items + i, end - i, &out);
		i = end;
	}
	page_write(&out, PAGE_TEXT);
}

static void put_item_json(struct json_stream *out, const struct catalog_item *item,
			  const char *cause)
{
	static const char *const sections[] = { "hardware", "software", "cache",
						"number",   "pmu",	"libpfm4" };
	bool tried = !item->pattern && !item->foreign;
	json_stream_open(out, NULL, '{', JSON_LINES);
	json_stream_text(out, "section", sections[item->section]);
	json_stream_text(out, "pmu", item->pmu[0] ? item->pmu : NULL);
	json_stream_text(out, "name", item->name);
	json_stream_text(out, "alias", item->alias[0] ? item->alias : NULL);
	json_stream_text(out, "description", item->description);
	json_stream_text(out, "detail", item->detail[0] ? item->detail : NULL);
	json_stream_text(out, "cycles", event_cycles_keys[item->cycles]);
	if (tried)
		json_stream_bool(out, "counted", item->code == 0);
	else
		json_stream_null(out, "counted");
	json_stream_text(out, "cause", tried && item->code ? cause : NULL);
	json_stream_close(out, '}');
}

static int print_json(const struct pmu_list *pmus, const struct catalog_item *const *items,
		      size_t count)
{
	CLEANUP(buffer_release) struct buffer page = { 0 };
	struct json_stream out = { .out = &page };
	json_stream_open(&out, NULL, '{', JSON_LINES);
	json_stream_u64(&out, "schema", 1);
	json_stream_open(&out, "events", '[', JSON_LINES);
	/* Causes repeat: they are looked up once for a run of equal ones. */
	char cause[256] = "";
	const struct catalog_item *explained = NULL;
	for (size_t i = 0; i < count; i++) {
		const struct catalog_item *item = items[i];
		if (!item->pattern && !item->foreign && item->code &&
		    (!explained || explained->code != item->code || !same_block(explained, item))) {
			explain(pmus, item, cause, sizeof(cause));
			explained = item;
		}
		put_item_json(&out, item, cause);
	}
	json_stream_close(&out, ']');
	json_stream_end(&out, '}');
	return page_write(&page, PAGE_JSON);
}

static int nothing_found(const struct event_catalog *catalog, const char *word)
{
	struct suggestion suggestion;
	suggestion_init(&suggestion, word);
	for (size_t i = 0; i < catalog->count; i++)
		suggestion_offer(&suggestion, catalog->items[i].name);
	if (suggestion.nearest[0])
		message_error("no event matches '%s'; did you mean '%s'?", word,
			      suggestion.nearest);
	else
		message_error("no event matches '%s'%s", word,
			      all ? "" : "; --all looks at other CPU models too");
	return 1;
}

static int list_events(const struct pmu_list *pmus, char *const *words, size_t count)
{
	CLEANUP(event_catalog_release) struct event_catalog catalog = { 0 };
	size_t shown = 0;
	if (event_catalog_read(pmus, all, &catalog)) {
		message_error("out of memory while listing events");
		return 1;
	}
	CLEANUP(free_pointer)
	const struct catalog_item **items = calloc(catalog.count + 1, sizeof(*items));
	if (!items) {
		message_error("out of memory while listing events");
		return 1;
	}
	for (size_t i = 0; i < catalog.count; i++)
		if (catalog_item_matches(&catalog.items[i], words, count))
			items[shown++] = &catalog.items[i];
	if (!shown)
		return nothing_found(&catalog, words[0]);
	pager_start();
	if (json)
		return print_json(pmus, items, shown);
	print_text(pmus, items, shown);
	return 0;
}

static int run_events(int argc, char **argv)
{
	struct machine_root root;
	CLEANUP(pmu_list_release) struct pmu_list pmus = { 0 };
	struct error err;
	int arguments = 0;
	int status = options_parse(&verb_events, argc, argv, OPTIONS_ANYWHERE, &arguments);
	if (status)
		return status;
	if (machine_root_open("/", &root, &err))
		return message_failure(&err);
	/* Without the folder there are no PMUs of sysfs to list; everything else is. */
	status = pmu_list_read(&root, &pmus, &err);
	machine_root_close(&root);
	if (status == -ENOMEM)
		return message_failure(&err);
	if (arguments == 0 || strcmp(argv[1], "encode") != 0)
		return list_events(&pmus, argv + 1, (size_t)arguments);
	if (arguments == 1)
		return options_misuse(&verb_events, "encode needs an event");
	return events_encode(&pmus, argv + 2, (size_t)arguments - 1, json);
}

const struct verb verb_events = {
	.name = "events",
	.run = run_events,
	.summary = "events by name, which this machine counts, and their encoding",
	.usage = "[OPTIONS] [PATTERN|WORD...] | encode EVENT...",
	.pages = true,
	.options = events_options,
};
