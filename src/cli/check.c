#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "cli/limits.h"
#include "cli/message.h"
#include "cli/page.h"
#include "cli/verbs.h"
#include "profile/profile.h"
#include "store/database.h"
#include "store/database_stash.h"
#include "store/file_source.h"
#include "store/profile_file.h"
#include "store/verify.h"

/* What one check of a file says aloud; the rest is counted. */
#define FAULTS_SHOWN 20

enum { EXIT_DAMAGED = 3 };

static bool json;
static const char *save, *limits;

static const struct option *check_options(void)
{
	static const struct option options[] = {
		{ "save", 'o', OPTION_TEXT, "FILE",
		  "write what can still be read of one damaged file there", &save, NULL },
		{ "json", 0, OPTION_FLAG, NULL, "the same as one JSON document", &json, NULL },
		LIMITS_OPTION_ROW(limits),
		{ 0 },
	};
	return options;
}

/* One run of the verb. */
struct checking {
	struct json_object *files;  /* NULL without --json */
	struct json_object *faults; /* of the file at hand */
	const char *path;
	uint64_t faults_of_file;
	uint64_t files_checked, files_damaged;
	bool could_not;
};

static void show_fault(void *context, const char *sentence)
{
	struct checking *checking = context;
	if (checking->faults)
		json_object_array_add(checking->faults, json_object_new_string(sentence));
	else if (checking->faults_of_file < FAULTS_SHOWN)
		page_line("%s: %s", checking->path, sentence);
	checking->faults_of_file++;
}

static void begin_file(struct checking *checking, const char *path)
{
	checking->path = path;
	checking->faults_of_file = 0;
	checking->faults = checking->files ? json_object_new_array() : NULL;
}

/* False when the events have estimates alone: then there are none, which is not 0. */
static bool samples_of(const struct profile *profile, uint64_t *samples)
{
	const struct table *flat = profile_table(profile, PROFILE_FLAT);
	bool sampled = false;
	*samples = 0;
	for (size_t row = 0; row < flat->count; row++) {
		uint64_t event = table_keys(flat, row)[FLAT_EVENT];
		if (!event || !profile_event(profile, event).sampled)
			continue;
		sampled = true;
		*samples += table_values(flat, row)[CELL_SAMPLES];
	}
	return sampled;
}

/* ", 12 samples", or nothing. */
static const char *spell_samples(const struct profile *profile, char out[40])
{
	uint64_t samples;
	out[0] = 0;
	if (samples_of(profile, &samples))
		snprintf(out, 40, ", %" PRIu64 " samples", samples);
	return out;
}

static void add_u64(struct json_object *object, const char *name, uint64_t value)
{
	json_object_object_add(object, name, json_object_new_uint64(value));
}

static void put_json(struct checking *checking, const struct verify_report *report,
		     const struct profile *profile)
{
	struct json_object *row = json_object_new_object();
	json_object_object_add(row, "path", json_object_new_string(checking->path));
	json_object_object_add(row, "sound", json_object_new_boolean(!checking->faults_of_file));
	json_object_object_add(row, "faults", checking->faults);
	checking->faults = NULL;
	if (report) {
		add_u64(row, "file_bytes", report->file_bytes);
		add_u64(row, "chunks", report->chunks);
		add_u64(row, "chunks_damaged", report->chunks_damaged);
		add_u64(row, "rows", report->rows);
		add_u64(row, "rows_dropped", report->rows_dropped);
		add_u64(row, "unknown_tables", report->unknown_tables);
		json_object_object_add(row, "cut_off", json_object_new_boolean(report->cut_off));
		uint64_t samples;
		bool known = profile && samples_of(profile, &samples);
		json_object_object_add(row, "samples",
				       known ? json_object_new_uint64(samples) : NULL);
	}
	json_object_array_add(checking->files, row);
}

static void put_text(const struct checking *checking, const struct verify_report *report,
		     const struct profile *profile)
{
	const char *path = checking->path;
	char samples[40];
	if (checking->faults_of_file > FAULTS_SHOWN)
		page_line("%s: and %" PRIu64 " faults more", path,
			  checking->faults_of_file - FAULTS_SHOWN);
	if (!checking->faults_of_file) {
		page_line("%s: sound, %" PRIu64 " rows%s, %" PRIu64 " bytes%s", path, report->rows,
			  spell_samples(profile, samples), report->file_bytes,
			  report->being_written ? ", being recorded"
			  : report->cut_off	? ", a recording that was cut off"
						: "");
		if (report->unknown_tables)
			page_line("%s: it has %u tables of a newer culprit, which are kept as they "
				  "are",
				  path, report->unknown_tables);
	} else if (profile && report->rows) {
		page_line("%s: damaged; %" PRIu64 " rows%s can be saved (--save), %" PRIu64
			  " of %" PRIu64 " chunks cannot be read",
			  path, report->rows, spell_samples(profile, samples),
			  report->chunks_damaged, report->chunks);
	} else {
		page_line("%s: damaged; nothing can be saved", path);
	}
}

static void end_file(struct checking *checking, const struct verify_report *report,
		     const struct profile *profile)
{
	checking->files_checked++;
	checking->files_damaged += checking->faults_of_file != 0;
	if (checking->files)
		put_json(checking, report, profile);
	else
		put_text(checking, report, profile);
}

static void could_not(struct checking *checking, const char *path, const struct error *err)
{
	message_error("%s", err->code ? err->text : path);
	checking->could_not = true;
	json_object_put(checking->faults);
	checking->faults = NULL;
}

static void check_file(struct checking *checking, const char *path)
{
	struct verify_report report;
	struct error err = { 0 };
	CLEANUP(profile_freep) struct profile *profile = NULL;
	begin_file(checking, path);
	int ret = verify_file(path, show_fault, checking, &report, &profile, &err);
	if (ret == -EBADMSG) {
		show_fault(checking, err.text);
		end_file(checking, &report, NULL);
		return;
	}
	if (ret < 0) {
		could_not(checking, path, &err);
		return;
	}
	end_file(checking, &report, profile);
	if (!save || !profile)
		return;
	if (profile_file_write(save, profile, &err) < 0) {
		message_error("%s", err.text);
		checking->could_not = true;
		return;
	}
	message_note("what could be read of '%s' is in '%s'", path, save);
}

static void show_fault_of(void *context, const char *path, const char *sentence)
{
	struct checking *checking = context;
	begin_file(checking, path);
	show_fault(checking, sentence);
	checking->files_damaged++;
	if (checking->files)
		put_json(checking, NULL, NULL);
}

static void check_database(struct checking *checking, const char *path)
{
	CLEANUP(database_list_release) struct database_list list = { 0 };
	struct error err = { 0 };
	uint64_t packs = 0;
	if (database_list(path, NULL, &list, &err) < 0) {
		could_not(checking, path, &err);
		return;
	}
	for (size_t i = 0; i < list.count; i++)
		if (list.entries[i].is_link)
			show_fault_of(checking, list.entries[i].path,
				      "it is a link, which is not followed");
		else
			check_file(checking, list.entries[i].path);
	if (database_verify_stash(path, show_fault_of, checking, &packs, &err) < 0) {
		could_not(checking, path, &err);
		return;
	}
	checking->files_checked += packs;
	if (!checking->files)
		page_line("%s: %zu epochs, %" PRIu64 " packs of code", path, list.count, packs);
}

static void check_path(struct checking *checking, const char *path)
{
	struct stat found;
	if (stat(path, &found) < 0 || !S_ISDIR(found.st_mode) || file_source_is_open_folder(path)) {
		check_file(checking, path);
		return;
	}
	if (database_recognise(path)) {
		check_database(checking, path);
		return;
	}
	message_error("'%s' is a folder, but no database", path);
	checking->could_not = true;
}

static int run_check(int argc, char **argv)
{
	int arguments;
	int status = options_parse(&verb_check, argc, argv, OPTIONS_ANYWHERE, &arguments);
	if (status >= 0)
		return status;
	status = limits_open(limits);
	if (status)
		return status;
	if (arguments == 0)
		return options_misuse(&verb_check, "no profile or database is given");
	if (save && arguments > 1)
		return options_misuse(&verb_check, "--save is for one file");
	struct checking checking = { .files = json ? json_object_new_array() : NULL };
	for (int i = 1; i <= arguments; i++)
		check_path(&checking, argv[i]);
	if (checking.files) {
		struct json_object *document = json_object_new_object();
		json_object_object_add(document, "schema", json_object_new_int(1));
		add_u64(document, "files_checked", checking.files_checked);
		add_u64(document, "files_damaged", checking.files_damaged);
		json_object_object_add(document, "files", checking.files);
		checking.could_not |= page_json(document) != 0;
	}
	if (checking.could_not)
		return 1;
	return checking.files_damaged ? EXIT_DAMAGED : 0;
}

const struct verb verb_check = {
	.name = "check",
	.run = run_check,
	.summary = "whether a profile or database is undamaged, and what can be saved",
	.usage = "[OPTIONS] PATH...",
	.options = check_options,
};
