#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/json_stream.h"
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

/* Faults of a file that are printed; the rest is counted. */
#define FAULTS_SHOWN 20

enum { EXIT_DAMAGED = 3 };

/* How deep in the document the members of "files" and of a file's "faults" stand. */
enum { FILES_DEPTH = 2, FAULTS_DEPTH = 4 };

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
	/* With --json, members of "files" and of the "faults" of the present file, which are
	 * written after their number. */
	struct buffer files, faults;
	struct json_stream file_rows, fault_rows;
	const char *path;
	uint64_t faults_of_file;
	uint64_t files_checked, files_damaged;
	bool could_not;
};

static void checking_release(struct checking *checking)
{
	buffer_release(&checking->files);
	buffer_release(&checking->faults);
}

static void show_fault(void *context, const char *sentence)
{
	struct checking *checking = context;
	if (json)
		json_stream_text(&checking->fault_rows, NULL, sentence);
	else if (checking->faults_of_file < FAULTS_SHOWN)
		page_line("%s: %s", checking->path, sentence);
	checking->faults_of_file++;
}

static void begin_file(struct checking *checking, const char *path)
{
	checking->path = path;
	checking->faults_of_file = 0;
	buffer_empty(&checking->faults);
	checking->fault_rows =
		(struct json_stream){ .out = &checking->faults, .depth = FAULTS_DEPTH };
}

/* False when the events have only estimates: then the number of samples is not known. */
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

/* An array whose members are written. */
static void put_members(struct json_stream *out, const char *key, const struct buffer *members)
{
	json_stream_open(out, key, '[', JSON_LINES);
	buffer_append(out->out, members->data, members->size);
	out->out->failed |= buffer_failed(members);
	json_stream_close(out, ']');
}

static void put_json(struct checking *checking, const struct verify_report *report,
		     const struct profile *profile)
{
	struct json_stream *out = &checking->file_rows;
	json_stream_open(out, NULL, '{', JSON_LINES);
	json_stream_text(out, "path", checking->path);
	json_stream_bool(out, "sound", !checking->faults_of_file);
	put_members(out, "faults", &checking->faults);
	if (report) {
		uint64_t samples = 0;
		bool known = profile && samples_of(profile, &samples);
		json_stream_u64(out, "file_bytes", report->file_bytes);
		json_stream_u64(out, "chunks", report->chunks);
		json_stream_u64(out, "chunks_damaged", report->chunks_damaged);
		json_stream_u64(out, "rows", report->rows);
		json_stream_u64(out, "rows_dropped", report->rows_dropped);
		json_stream_u64(out, "unknown_tables", report->unknown_tables);
		json_stream_bool(out, "cut_off", report->cut_off);
		json_stream_known(out, "samples", known, samples);
	}
	json_stream_close(out, '}');
}

static int print_json(const struct checking *checking)
{
	CLEANUP(buffer_release) struct buffer page = { 0 };
	struct json_stream out = { .out = &page };
	json_stream_open(&out, NULL, '{', JSON_LINES);
	json_stream_u64(&out, "schema", 1);
	json_stream_u64(&out, "files_checked", checking->files_checked);
	json_stream_u64(&out, "files_damaged", checking->files_damaged);
	put_members(&out, "files", &checking->files);
	json_stream_end(&out, '}');
	return page_write(&page, PAGE_JSON);
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
	if (json)
		put_json(checking, report, profile);
	else
		put_text(checking, report, profile);
}

static void could_not(struct checking *checking, const char *path, const struct error *err)
{
	message_error("%s", err->code ? err->text : path);
	checking->could_not = true;
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
	if (json)
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
	if (!json)
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
	if (status)
		return status;
	status = limits_open(limits);
	if (status)
		return status;
	if (arguments == 0)
		return options_misuse(&verb_check, "no profile or database is given");
	if (save && arguments > 1)
		return options_misuse(&verb_check, "--save is for one file");
	CLEANUP(checking_release) struct checking checking = { 0 };
	checking.file_rows = (struct json_stream){ .out = &checking.files, .depth = FILES_DEPTH };
	for (int i = 1; i <= arguments; i++)
		check_path(&checking, argv[i]);
	if (json)
		checking.could_not |= print_json(&checking) != 0;
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
