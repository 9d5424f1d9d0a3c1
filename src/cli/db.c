#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/count_of.h"
#include "base/error.h"
#include "base/json_stream.h"
#include "base/number.h"
#include "cli/limits.h"
#include "cli/message.h"
#include "cli/page.h"
#include "cli/verbs.h"
#include "profile/profile.h"
#include "profile/sum_check.h"
#include "render/text_table.h"
#include "store/database.h"
#include "store/file_source.h"
#include "store/profile_file.h"

static bool json, samples;
static struct option_list hosts, epochs;
static const char *since, *until, *limits;

static const struct option *db_options(void)
{
	static const struct option options[] = {
		{ "host", 0, OPTION_LIST, "HOST", "only epochs of this host (may be repeated)",
		  &hosts, NULL },
		{ "epoch", 0, OPTION_LIST, "EPOCH", "only this epoch (may be repeated)", &epochs,
		  NULL },
		{ "since", 0, OPTION_TEXT, "TIME",
		  "only epochs that end after TIME: 2026-01-31T12:00, or 2h for two hours ago",
		  &since, NULL },
		{ "until", 0, OPTION_TEXT, "TIME", "only epochs that begin before TIME", &until,
		  NULL },
		{ "json", 0, OPTION_FLAG, NULL, "list: the same as one JSON document", &json,
		  NULL },
		{ "samples", 0, OPTION_FLAG, NULL,
		  "list: read every epoch whole, to verify it and count its samples", &samples,
		  NULL },
		LIMITS_OPTION_ROW(limits),
		{ 0 },
	};
	return options;
}

/* A point in UTC, or a duration before now. False when it is neither. */
static bool parse_time(const char *text, uint64_t *ns)
{
	static const char *const forms[] = { "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d",
					     "%Y%m%dT%H%M%SZ" };
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		struct tm when = { 0 };
		const char *end = strptime(text, forms[i], &when);
		if (!end || (*end && strcmp(end, "Z") != 0))
			continue;
		time_t seconds = timegm(&when);
		if (seconds < 0)
			return false;
		*ns = (uint64_t)seconds * 1000000000u;
		return true;
	}
	uint64_t before;
	uint64_t now = clock_realtime_ns();
	if (!number_parse_duration_ns(text, &before) || before > now)
		return false;
	*ns = now - before;
	return true;
}

static void warn(void *context, const char *sentence)
{
	bool *left_out = context;
	*left_out = true;
	message_warning("%s; it is left out", sentence);
}

/* 0, or the exit status after a mistake. */
static int select_epochs(struct database_selection *selection, bool *left_out)
{
	*selection = (struct database_selection){ .hosts = hosts.items,
						  .host_count = hosts.count,
						  .epochs = epochs.items,
						  .epoch_count = epochs.count,
						  .whole = samples,
						  .note = warn,
						  .note_context = left_out };
	if (since && !parse_time(since, &selection->since_ns))
		return options_misuse(&verb_db, "--since needs a time, not '%s'", since);
	if (until && !parse_time(until, &selection->until_ns))
		return options_misuse(&verb_db, "--until needs a time, not '%s'", until);
	return 0;
}

static void spell_time(uint64_t ns, char out[32])
{
	time_t seconds = (time_t)(ns / 1000000000u);
	struct tm when;
	if (ns == 0 || !gmtime_r(&seconds, &when))
		strcpy(out, "-");
	else
		strftime(out, 32, "%Y-%m-%d %H:%M:%S", &when);
}

enum { SAMPLES_COLUMN = 5, LIST_COLUMNS = 7 };

/* The column of samples is there with --samples only. */
static void add_row(struct text_table *table, const char *const *cells)
{
	for (size_t i = 0; i < LIST_COLUMNS; i++)
		if (samples || i != SAMPLES_COLUMN)
			text_table_add(table, TEXT_PLAIN, "%s", cells[i]);
}

static int print_list(const struct database_list *list)
{
	static const enum text_align align[] = { TEXT_LEFT,  TEXT_LEFT,	 TEXT_LEFT, TEXT_RIGHT,
						 TEXT_RIGHT, TEXT_RIGHT, TEXT_LEFT };
	static const enum text_align without[] = { TEXT_LEFT,  TEXT_LEFT,  TEXT_LEFT,
						   TEXT_RIGHT, TEXT_RIGHT, TEXT_LEFT };
	static const char *const heads[LIST_COLUMNS] = { "host",    "epoch", "start (UTC)",
							 "seconds", "bytes", "samples",
							 "" };
	CLEANUP(text_table_release) struct text_table table;
	CLEANUP(buffer_release) struct buffer page = { 0 };
	text_table_init(&table, samples ? align : without,
			samples ? COUNT_OF(align) : COUNT_OF(without));
	add_row(&table, heads);
	for (size_t i = 0; i < list->count; i++) {
		const struct database_entry *entry = &list->entries[i];
		char start[32], bytes[32] = "-", seconds[32] = "-", counted[32] = "-";
		spell_time(entry->start_ns, start);
		if (entry->start_ns)
			snprintf(seconds, sizeof(seconds), "%.1f",
				 (double)entry->duration_ns / 1e9);
		if (entry->has_samples)
			snprintf(counted, sizeof(counted), "%" PRIu64, entry->samples);
		if (entry->file_bytes)
			snprintf(bytes, sizeof(bytes), "%" PRIu64, entry->file_bytes);
		const char *cells[] = { entry->host,
					entry->epoch,
					start,
					seconds,
					bytes,
					counted,
					!entry->readable       ? "damaged"
					: entry->being_written ? "being recorded"
					: entry->is_open       ? "cut off"
							       : "" };
		add_row(&table, cells);
	}
	text_table_print(&table, TEXT_WITHOUT_COLOUR, &page);
	return page_write(&page, PAGE_TEXT);
}

static void put_entry(struct json_stream *out, const struct database_entry *entry)
{
	bool timed = entry->readable && entry->start_ns;
	json_stream_open(out, NULL, '{', JSON_LINES);
	json_stream_text(out, "host", entry->host);
	json_stream_text(out, "epoch", entry->epoch);
	json_stream_text(out, "path", entry->path);
	json_stream_known(out, "file_bytes", entry->file_bytes != 0, entry->file_bytes);
	json_stream_bool(out, "readable", entry->readable);
	json_stream_bool(out, "open", entry->is_open);
	json_stream_bool(out, "being_written", entry->being_written);
	json_stream_known(out, "start_ns", timed, entry->start_ns);
	json_stream_known(out, "duration_ns", timed, entry->duration_ns);
	json_stream_known(out, "samples", entry->has_samples, entry->samples);
	json_stream_text(out, "fault", entry->readable ? NULL : entry->fault);
	json_stream_close(out, '}');
}

static int print_json(const struct database_list *list)
{
	CLEANUP(buffer_release) struct buffer page = { 0 };
	struct json_stream out = { .out = &page };
	json_stream_open(&out, NULL, '{', JSON_LINES);
	json_stream_u64(&out, "schema", 1);
	json_stream_open(&out, "epochs", '[', JSON_LINES);
	for (size_t i = 0; i < list->count; i++)
		put_entry(&out, &list->entries[i]);
	json_stream_close(&out, ']');
	json_stream_end(&out, '}');
	return page_write(&page, PAGE_JSON);
}

static int list_database(const char *path, const struct database_selection *selection)
{
	CLEANUP(database_list_release) struct database_list list = { 0 };
	struct error err;
	if (!database_recognise(path)) {
		message_error("'%s' is no database", path);
		return 1;
	}
	if (database_list(path, selection, &list, &err) < 0)
		return message_failure(&err);
	int status = json ? print_json(&list) : print_list(&list);
	if (status)
		return status;
	bool damaged = false;
	for (size_t i = 0; i < list.count; i++) {
		if (list.entries[i].readable)
			continue;
		message_warning("%s", list.entries[i].fault);
		damaged = true;
	}
	return damaged ? 1 : 0;
}

static int read_input(const char *path, const struct database_selection *selection,
		      struct profile **out, struct error *err)
{
	struct stat found;
	struct profile_file_info info;
	if (stat(path, &found) == 0 && S_ISDIR(found.st_mode) && !file_source_is_open_folder(path))
		return database_read(path, selection, out, err);
	int ret = profile_file_read(path, out, &info, err);
	if (ret == 0 && info.cut_off)
		message_warning("'%s' is a recording that was cut off: it has what was merged "
				"before",
				path);
	if (ret == 0 && info.unknown_tables)
		message_note("'%s' has %u tables of a newer culprit, which are merged by their "
			     "declaration",
			     path, info.unknown_tables);
	return ret;
}

static int merge_inputs(const char *output, char **inputs, int count,
			const struct database_selection *selection)
{
	struct error err;
	CLEANUP(profile_freep) struct profile *into = profile_new();
	if (!into) {
		message_error("out of memory");
		return 1;
	}
	for (int i = 0; i < count; i++) {
		CLEANUP(profile_freep) struct profile *one = NULL;
		if (read_input(inputs[i], selection, &one, &err) < 0)
			return message_failure(&err);
		if (profile_check_sums(one, &err) < 0 || profile_merge(into, one, &err) < 0) {
			message_error("cannot merge '%s': %s", inputs[i], err.text);
			return 1;
		}
	}
	/* a sum that stopped at 64 bits would be lost for good */
	if (profile_check_sums(into, &err) < 0) {
		message_error("cannot merge these profiles: %s", err.text);
		return 1;
	}
	if (profile_file_write(output, into, &err) < 0)
		return message_failure(&err);
	return 0;
}

static int run_db(int argc, char **argv)
{
	int arguments;
	int status = options_parse(&verb_db, argc, argv, OPTIONS_ANYWHERE, &arguments);
	if (status)
		return status;
	status = limits_open(limits);
	if (status)
		return status;
	struct database_selection selection;
	bool left_out = false;
	status = select_epochs(&selection, &left_out);
	if (status)
		return status;
	if (arguments == 0)
		return options_misuse(&verb_db, "say 'list' or 'merge'");
	const char *what = argv[1];
	if (strcmp(what, "list") == 0) {
		if (arguments != 2)
			return options_misuse(&verb_db, "list needs one database");
		return list_database(argv[2], &selection);
	}
	if (strcmp(what, "merge") != 0)
		return options_misuse(&verb_db, "db needs 'list' or 'merge', not '%s'", what);
	if (arguments < 3)
		return options_misuse(&verb_db, "merge needs an output and at least one input");
	if (json)
		return options_misuse(&verb_db, "--json is for list");
	status = merge_inputs(argv[2], argv + 3, arguments - 2, &selection);
	return status ? status : left_out;
}

const struct verb verb_db = {
	.name = "db",
	.run = run_db,
	.summary = "list the epochs of a database, merge epochs and profiles into one",
	.usage = "[OPTIONS] list DB | merge OUT INPUT...",
	.options = db_options,
};
