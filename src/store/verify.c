#include "store/verify.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "profile/profile.h"
#include "store/file_source.h"
#include "store/profile_reader.h"

/* Where faults are reported, and how many were. */
struct listener {
	void (*fault)(void *context, const char *sentence);
	void *context;
	uint64_t count;
};

static void report_fault(void *context, const char *sentence)
{
	struct listener *listener = context;
	listener->count++;
	listener->fault(listener->context, sentence);
}

/* Reports each line of a row of integrity_check, but its heading "*** in database main ***". */
static void report_page_faults(struct listener *listener, const char *text)
{
	while (*text) {
		size_t size = strcspn(text, "\n");
		char line[200] = "";
		char sentence[256];
		memcpy(line, text, size < sizeof(line) - 1 ? size : sizeof(line) - 1);
		snprintf(sentence, sizeof(sentence), "pages: %s", line);
		if (strncmp(text, "***", 3) != 0 && size > 0)
			report_fault(listener, sentence);
		text += size + (text[size] == '\n');
	}
}

/* Runs SQLite's own check of the pages, which reports such as "On tree page 7 cell 3: ...". */
static void check_pages(struct guard *guard, struct listener *listener)
{
	sqlite3_stmt *statement = NULL;
	int code =
		sqlite3_prepare_v2(guard->db, "PRAGMA integrity_check(20)", -1, &statement, NULL);
	while (code == SQLITE_OK || code == SQLITE_ROW) {
		code = sqlite3_step(statement);
		if (code != SQLITE_ROW)
			break;
		const char *text = (const char *)sqlite3_column_text(statement, 0);
		if (text && strcmp(text, "ok") != 0)
			report_page_faults(listener, text);
	}
	if (code != SQLITE_DONE) {
		char sentence[256];
		snprintf(sentence, sizeof(sentence), "pages: %s", guard_reason(guard->db, code));
		report_fault(listener, sentence);
	}
	sqlite3_finalize(statement);
}

int verify_file(const char *path, void (*fault)(void *context, const char *sentence), void *context,
		struct verify_report *report, struct profile **out, struct error *err)
{
	struct listener listener = { fault, context, 0 };
	struct error reason = { 0 };
	CLEANUP(file_source_close) struct file_source source = { 0 };
	*report = (struct verify_report){ 0 };
	if (out)
		*out = NULL;
	int ret = file_source_open_damaged(&source, path, report_fault, &listener, &reason);
	if (ret < 0) {
		report->faults = listener.count;
		if (err)
			*err = reason;
		return ret;
	}
	report->file_bytes = source.file_bytes;
	report->being_written = source.being_written;
	report->cut_off = source.is_open_epoch && !source.being_written;
	struct profile_reader_options options = { .name = source.name,
						  .file_bytes = source.content_bytes,
						  .fault = report_fault,
						  .fault_context = &listener };
	struct profile_reader_counts counts = { 0 };
	CLEANUP(profile_freep) struct profile *profile = NULL;
	ret = profile_reader_load(&source.guard, &options, &profile, &counts, &reason);
	if (ret < 0 && ret != -EBADMSG) {
		if (err)
			*err = reason;
		return ret;
	}
	if (ret < 0)
		report_fault(&listener, reason.text);
	else
		check_pages(&source.guard, &listener);
	report->faults = listener.count;
	report->chunks = counts.chunks;
	report->chunks_damaged = counts.chunks_damaged;
	report->rows = counts.rows;
	report->rows_dropped = counts.rows_dropped;
	report->unknown_tables = counts.unknown_tables;
	if (out) {
		*out = profile;
		profile = NULL; /* the caller's from here on */
	}
	return 0;
}
