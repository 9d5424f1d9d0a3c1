#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
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
#include "cli/db_care.h"
#include "cli/limits.h"
#include "cli/message.h"
#include "cli/page.h"
#include "cli/time_text.h"
#include "cli/verbs.h"
#include "profile/profile.h"
#include "profile/sum_check.h"
#include "render/text_table.h"
#include "store/database.h"
#include "store/file_source.h"
#include "store/profile_file.h"

static bool json, samples;
static struct option_list hosts, epochs, labels;
static const char *since, *until, *limits, *max_size;
static struct db_care care;

static const struct option *db_options(void)
{
	static const struct option options[] = {
		{ "host", 0, OPTION_LIST, "HOST", "only epochs of this host (may be repeated)",
		  &hosts, NULL },
		{ "epoch", 0, OPTION_LIST, "EPOCH", "only this epoch (may be repeated)", &epochs,
		  NULL },
		{ "label", 0, OPTION_LIST, "TEXT", "only epochs with this label (may be repeated)",
		  &labels, NULL },
		{ "since", 0, OPTION_TEXT, "TIME",
		  "only epochs that end after TIME: 2026-01-31T12:00 (UTC), yesterday, 2h (ago)",
		  &since, NULL },
		{ "until", 0, OPTION_TEXT, "TIME", "only epochs that begin before TIME", &until,
		  NULL },
		{ "older-than", 0, OPTION_NS, "AGE",
		  "prune: epochs that ended longer ago, as 30d; compact: days (default 7d)",
		  &care.older_than_ns, &care.has_older_than },
		{ "max-size", 0, OPTION_TEXT, "SIZE",
		  "prune: the oldest epochs, until all fits in that, as 1GB", &max_size, NULL },
		{ "grace", 0, OPTION_NS, "AGE",
		  "prune: code that came later stays, needed or not (default 24h)", &care.grace_ns,
		  &care.has_grace },
		{ "dry-run", 0, OPTION_FLAG, NULL,
		  "prune, compact: say what would be done, and do nothing", &care.dry_run, NULL },
		{ "json", 0, OPTION_FLAG, NULL, "the same as one JSON document; not of merge",
		  &json, NULL },
		{ "samples", 0, OPTION_FLAG, NULL,
		  "list: read every epoch whole, to verify it and count its samples", &samples,
		  NULL },
		LIMITS_OPTION_ROW(limits),
		{ 0 },
	};
	return options;
}

static void warn(void *context, const char *sentence)
{
	bool *left_out = context;
	*left_out = true;
	message_warning("%s; it is left out, and 'culprit check' says more", sentence);
}

/* 0, or the exit status after a mistake. */
static int select_epochs(struct database_selection *selection, bool *left_out)
{
	*selection = (struct database_selection){ .hosts = hosts.items,
						  .host_count = hosts.count,
						  .epochs = epochs.items,
						  .epoch_count = epochs.count,
						  .labels = labels.items,
						  .label_count = labels.count,
						  .whole = samples,
						  .note = warn,
						  .note_context = left_out };
	struct error err;
	if (time_text_read("--since", since, &selection->since_ns, &err) < 0 ||
	    time_text_read("--until", until, &selection->until_ns, &err) < 0)
		return options_misuse(&verb_db, "%s", err.text);
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

enum { SAMPLES_COLUMN = 5, LABELS_COLUMN, LIST_COLUMNS = 8 };

/* Which columns there are: samples with --samples, labels where an epoch has one. */
struct columns {
	bool shown[LIST_COLUMNS];
};

static struct columns choose_columns(const struct database_list *list)
{
	struct columns columns = { 0 };
	for (size_t i = 0; i < LIST_COLUMNS; i++)
		columns.shown[i] = i != LABELS_COLUMN && (samples || i != SAMPLES_COLUMN);
	for (size_t i = 0; i < list->count; i++)
		columns.shown[LABELS_COLUMN] |= list->entries[i].labels && *list->entries[i].labels;
	return columns;
}

static void add_row(struct text_table *table, const struct columns *columns,
		    const char *const *cells)
{
	for (size_t i = 0; i < LIST_COLUMNS; i++)
		if (columns->shown[i])
			text_table_add(table, TEXT_PLAIN, "%s", cells[i]);
}

/* "a, b" */
static char *spell_labels(const char *lines)
{
	CLEANUP(buffer_release) struct buffer spelt = { 0 };
	for (; lines && *lines; lines++) {
		if (*lines == '\n')
			buffer_append_text(&spelt, ", ");
		else
			buffer_append_u8(&spelt, (uint8_t)*lines);
	}
	return strdup(buffer_text(&spelt));
}

static const char *state_of(const struct database_entry *entry)
{
	return !entry->readable	      ? "damaged"
	       : entry->being_written ? "being recorded"
	       : entry->is_open	      ? "cut off"
	       : entry->replaced      ? "in another"
				      : "";
}

/* The state, and what was not sampled before the epoch. */
static void spell_state(const struct database_entry *entry, char out[96])
{
	const char *state = state_of(entry);
	if (entry->unsampled_ns)
		snprintf(out, 96, "%s%snot sampled for about %.1f s before it", state,
			 *state ? ", " : "", (double)entry->unsampled_ns / 1e9);
	else
		snprintf(out, 96, "%s", state);
}

static int print_list(const struct database_list *list)
{
	static const enum text_align usual[LIST_COLUMNS] = { TEXT_LEFT,	 TEXT_LEFT,  TEXT_LEFT,
							     TEXT_RIGHT, TEXT_RIGHT, TEXT_RIGHT,
							     TEXT_LEFT,	 TEXT_LEFT };
	static const char *const heads[LIST_COLUMNS] = { "host",    "epoch", "start (UTC)",
							 "seconds", "bytes", "samples",
							 "labels",  "" };
	const struct columns columns = choose_columns(list);
	enum text_align align[LIST_COLUMNS];
	size_t count = 0;
	for (size_t i = 0; i < LIST_COLUMNS; i++)
		if (columns.shown[i])
			align[count++] = usual[i];
	CLEANUP(text_table_release) struct text_table table;
	CLEANUP(buffer_release) struct buffer page = { 0 };
	text_table_init(&table, align, count);
	add_row(&table, &columns, heads);
	for (size_t i = 0; i < list->count; i++) {
		const struct database_entry *entry = &list->entries[i];
		char start[32], bytes[32] = "-", seconds[32] = "-", counted[32] = "-", state[96];
		spell_state(entry, state);
		spell_time(entry->start_ns, start);
		if (entry->start_ns)
			snprintf(seconds, sizeof(seconds), "%.1f",
				 (double)entry->duration_ns / 1e9);
		if (entry->has_samples)
			snprintf(counted, sizeof(counted), "%" PRIu64, entry->samples);
		if (entry->file_bytes)
			snprintf(bytes, sizeof(bytes), "%" PRIu64, entry->file_bytes);
		CLEANUP(free_pointer) char *labelled = spell_labels(entry->labels);
		const char *cells[] = { entry->host,
					entry->epoch,
					start,
					seconds,
					bytes,
					counted,
					labelled ? labelled : "",
					state };
		add_row(&table, &columns, cells);
	}
	text_table_print(&table, TEXT_WITHOUT_COLOUR, &page);
	return page_write(&page, PAGE_TEXT);
}

/* An array, or null when they are not known. */
static void put_labels(struct json_stream *out, const char *lines)
{
	if (!lines) {
		json_stream_text(out, "labels", NULL);
		return;
	}
	json_stream_open(out, "labels", '[', JSON_ONE_LINE);
	while (*lines) {
		size_t size = strcspn(lines, "\n");
		json_stream_span(out, NULL, (struct span){ lines, size });
		lines += size + (lines[size] == '\n');
	}
	json_stream_close(out, ']');
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
	put_labels(out, entry->labels);
	json_stream_bool(out, "in_another", entry->replaced);
	json_stream_known(out, "samples", entry->has_samples, entry->samples);
	if (entry->unsampled_ns)
		json_stream_u64(out, "unsampled_ns", entry->unsampled_ns);
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

/* An option of one action that was given to another. 0 or 2. */
static int check_options(const char *action)
{
	bool prune = strcmp(action, "prune") == 0, compact = strcmp(action, "compact") == 0;
	const char *wrong = max_size && !prune				? "max-size"
			    : care.has_grace && !prune			? "grace"
			    : care.has_older_than && !prune && !compact ? "older-than"
			    : care.dry_run && !prune && !compact	? "dry-run"
			    : samples && strcmp(action, "list") != 0	? "samples"
			    : json && strcmp(action, "merge") == 0	? "json"
									: NULL;
	if (wrong)
		return options_misuse(&verb_db, "--%s is not for %s", wrong, action);
	if ((prune || compact) && (hosts.count || epochs.count || labels.count || since || until))
		return options_misuse(&verb_db, "%s takes the whole database, no part of it",
				      action);
	if (max_size && (!number_parse_size(max_size, &care.most_bytes) || !care.most_bytes))
		return options_misuse(&verb_db,
				      "--max-size needs a size above 0 as 500M or 1GB, not '%s'",
				      max_size);
	return 0;
}

/* `count` arguments behind the action. */
static int run_action(const char *action, char **arguments, int count,
		      const struct database_selection *selection, bool *left_out)
{
	static const struct action {
		const char *name;
		int least, most; /* arguments; 0: any number */
		const char *needs;
	} actions[] = { { "list", 1, 1, "one database" },
			{ "merge", 2, 0, "an output and at least one input" },
			{ "prune", 1, 1, "one database" },
			{ "compact", 1, 1, "one database" },
			{ "copy", 2, 2, "a database and where to copy it" } };
	const struct action *found = NULL;
	for (size_t i = 0; i < COUNT_OF(actions); i++)
		if (strcmp(action, actions[i].name) == 0)
			found = &actions[i];
	if (count < 0)
		return options_misuse(&verb_db,
				      "say 'list', 'merge', 'prune', 'compact' or 'copy'");
	if (!found)
		return options_misuse(
			&verb_db,
			"db needs 'list', 'merge', 'prune', 'compact' or 'copy', not '%s'", action);
	if (count < found->least || (found->most && count > found->most))
		return options_misuse(&verb_db, "%s needs %s", action, found->needs);
	int status = check_options(action);
	care.json = json;
	if (status)
		return status;
	switch (found - actions) {
	case 0:
		return list_database(arguments[0], selection);
	case 1:
		status = merge_inputs(arguments[0], arguments + 1, count - 1, selection);
		return status ? status : *left_out;
	case 2:
		return db_prune(arguments[0], &care);
	case 3:
		return db_compact(arguments[0], &care);
	default:
		return db_copy(arguments[0], arguments[1], selection, &care);
	}
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
	return run_action(argc > 1 ? argv[1] : "", argv + 2, arguments - 1, &selection, &left_out);
}

const struct verb verb_db = {
	.name = "db",
	.run = run_db,
	.summary = "list, merge, prune, compact or copy the epochs of databases",
	.usage = "[OPTIONS] list DB | merge OUT INPUT... | prune DB | compact DB | copy FROM TO",
	.options = db_options,
};
