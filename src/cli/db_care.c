#include "cli/db_care.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/json_stream.h"
#include "cli/message.h"
#include "cli/page.h"
#include "store/database.h"
#include "store/database_compact.h"
#include "store/database_copy.h"
#include "store/database_prune.h"

/* How deep in the document the members of its array stand. */
enum { MEMBERS_DEPTH = 2 };

/* What is said while it is done: lines, or members of an array. */
struct telling {
	const struct db_care *care;
	struct buffer members;
	struct json_stream rows;
	bool left; /* something was noted */
};

static void telling_init(struct telling *telling, const struct db_care *care)
{
	*telling = (struct telling){ .care = care };
	telling->rows = (struct json_stream){ .out = &telling->members, .depth = MEMBERS_DEPTH };
}

static void telling_release(struct telling *telling)
{
	buffer_release(&telling->members);
}

static void tell_note(void *context, const char *sentence)
{
	struct telling *telling = context;
	telling->left = true;
	message_warning("%s", sentence);
}

/* One document: the figures that `put` adds, then the members. Returns the exit status. */
static int print_document(struct telling *telling, const char *members,
			  void (*put)(struct json_stream *out, const void *figures),
			  const void *figures)
{
	CLEANUP(buffer_release) struct buffer page = { 0 };
	struct json_stream out = { .out = &page };
	json_stream_open(&out, NULL, '{', JSON_LINES);
	json_stream_u64(&out, "schema", 1);
	json_stream_bool(&out, "dry_run", telling->care->dry_run);
	put(&out, figures);
	json_stream_open(&out, members, '[', JSON_LINES);
	buffer_append(&page, telling->members.data, telling->members.size);
	page.failed |= buffer_failed(&telling->members);
	json_stream_close(&out, ']');
	json_stream_end(&out, '}');
	return page_write(&page, PAGE_JSON);
}

static bool is_database(const char *path)
{
	if (database_recognise(path))
		return true;
	message_error("'%s' is no database", path);
	return false;
}

static const char *plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

/* ---- prune */

static void tell_removed(void *context, const struct database_removal *removal)
{
	struct telling *telling = context;
	struct json_stream *out = &telling->rows;
	if (!telling->care->json) {
		page_line("%s  %" PRIu64 " bytes", removal->path, removal->bytes);
		return;
	}
	json_stream_open(out, NULL, '{', JSON_LINES);
	json_stream_text(out, "path", removal->path);
	json_stream_text(out, "host", removal->host);
	json_stream_text(out, "epoch", removal->epoch);
	json_stream_u64(out, "bytes", removal->bytes);
	json_stream_close(out, '}');
}

static void put_pruned(struct json_stream *out, const void *figures)
{
	const struct database_pruned *pruned = figures;
	json_stream_u64(out, "damaged", pruned->damaged);
	json_stream_u64(out, "damaged_bytes", pruned->damaged_bytes);
	json_stream_u64(out, "epochs", pruned->epochs);
	json_stream_u64(out, "epoch_bytes", pruned->epoch_bytes);
	json_stream_u64(out, "packs", pruned->packs);
	json_stream_u64(out, "pack_bytes", pruned->pack_bytes);
	json_stream_u64(out, "left_bytes", pruned->left_bytes);
	json_stream_bool(out, "fits", pruned->fits);
}

static void print_pruned(const struct database_pruned *pruned, bool dry_run)
{
	char damaged[96] = "";
	if (pruned->damaged)
		snprintf(damaged, sizeof(damaged), "%" PRIu64 " damaged of %" PRIu64 " bytes, ",
			 pruned->damaged, pruned->damaged_bytes);
	page_line("%s%s%" PRIu64 " epoch%s of %" PRIu64 " bytes and %" PRIu64
		  " pack%s of code of %" PRIu64 " bytes; %" PRIu64 " bytes are left",
		  dry_run ? "would remove " : "removed ", damaged, pruned->epochs,
		  plural(pruned->epochs), pruned->epoch_bytes, pruned->packs, plural(pruned->packs),
		  pruned->pack_bytes, pruned->left_bytes);
}

int db_prune(const char *database, const struct db_care *care)
{
	CLEANUP(telling_release) struct telling telling;
	struct database_pruned pruned;
	struct error err;
	telling_init(&telling, care);
	const struct database_retention retention = {
		.older_than_ns = care->has_older_than ? care->older_than_ns : 0,
		.most_bytes = care->most_bytes,
		.grace_ns = care->has_grace ? care->grace_ns : DATABASE_PACK_GRACE_NS,
		.dry_run = care->dry_run,
		.removed = tell_removed,
		.note = tell_note,
		.context = &telling,
	};
	if (!is_database(database))
		return 1;
	int ret = database_prune(database, &retention, &pruned, &err);
	if (ret < 0)
		message_failure(&err);
	if (care->json) {
		int status = print_document(&telling, "removed", put_pruned, &pruned);
		if (status)
			return status;
	} else {
		print_pruned(&pruned, care->dry_run);
	}
	if (ret == 0 && !pruned.fits) {
		message_warning("'%s' is still larger than %" PRIu64
				" bytes: the last %d epochs of each host stay with their code, "
				"code and what is damaged younger than --grace, what is being "
				"recorded, and what is not ours",
				database, care->most_bytes, DATABASE_KEPT_EPOCHS);
		return 1;
	}
	return ret < 0 || telling.left ? 1 : 0;
}

/* ---- compact */

static void tell_made(void *context, const char *host, const char *epoch, size_t parts)
{
	struct telling *telling = context;
	struct json_stream *out = &telling->rows;
	if (!telling->care->json) {
		page_line("%s  %s%s%zu epochs", host, epoch, *epoch ? " of " : "", parts);
		return;
	}
	json_stream_open(out, NULL, '{', JSON_LINES);
	json_stream_text(out, "host", host);
	json_stream_text(out, "epoch", *epoch ? epoch : NULL);
	json_stream_u64(out, "parts", parts);
	json_stream_close(out, '}');
}

static void put_compacted(struct json_stream *out, const void *figures)
{
	const struct database_compacted *done = figures;
	json_stream_u64(out, "made", done->made);
	json_stream_u64(out, "written_bytes", done->written_bytes);
	json_stream_u64(out, "parts", done->parts);
	json_stream_u64(out, "parts_bytes", done->parts_bytes);
	json_stream_u64(out, "packs_written", done->packs_written);
	json_stream_u64(out, "packs_removed", done->packs_removed);
}

static void print_compacted(const struct database_compacted *done, bool dry_run)
{
	if (dry_run) {
		page_line("would make %" PRIu64 " epoch%s of %" PRIu64 " of %" PRIu64 " bytes",
			  done->made, plural(done->made), done->parts, done->parts_bytes);
		return;
	}
	page_line("made %" PRIu64 " epoch%s of %" PRIu64 " bytes of %" PRIu64 " of %" PRIu64
		  " bytes, and %" PRIu64 " pack%s of code of %" PRIu64,
		  done->made, plural(done->made), done->written_bytes, done->parts,
		  done->parts_bytes, done->packs_written, plural(done->packs_written),
		  done->packs_removed);
}

int db_compact(const char *database, const struct db_care *care)
{
	CLEANUP(telling_release) struct telling telling;
	struct database_compacted done;
	struct error err;
	telling_init(&telling, care);
	const struct database_compaction compaction = {
		.older_than_ns =
			care->has_older_than ? care->older_than_ns : DATABASE_COMPACT_AGE_NS,
		.dry_run = care->dry_run,
		.made = tell_made,
		.note = tell_note,
		.context = &telling,
	};
	if (!is_database(database))
		return 1;
	int ret = database_compact(database, &compaction, &done, &err);
	if (ret < 0)
		message_failure(&err);
	if (care->json) {
		int status = print_document(&telling, "epochs", put_compacted, &done);
		if (status)
			return status;
	} else {
		print_compacted(&done, care->dry_run);
	}
	return ret < 0 || telling.left ? 1 : 0;
}

/* ---- copy */

static void tell_left(void *context, const char *sentence)
{
	(void)context;
	message_warning("left: %s", sentence);
}

static void put_copied(struct json_stream *out, const void *figures)
{
	const struct database_copied *copied = figures;
	json_stream_u64(out, "epochs", copied->epochs);
	json_stream_u64(out, "epoch_bytes", copied->epoch_bytes);
	json_stream_u64(out, "packs", copied->packs);
	json_stream_u64(out, "pack_bytes", copied->pack_bytes);
	json_stream_u64(out, "there_already", copied->there);
	json_stream_u64(out, "open", copied->open);
	json_stream_u64(out, "left_out", copied->left_out);
}

static int print_copied(const struct database_copied *copied)
{
	CLEANUP(buffer_release) struct buffer page = { 0 };
	struct json_stream out = { .out = &page };
	json_stream_open(&out, NULL, '{', JSON_LINES);
	json_stream_u64(&out, "schema", 1);
	put_copied(&out, copied);
	json_stream_end(&out, '}');
	return page_write(&page, PAGE_JSON);
}

int db_copy(const char *from, const char *to, const struct database_selection *selection,
	    const struct db_care *care)
{
	struct database_selection chosen = *selection;
	struct database_copied copied;
	struct error err;
	chosen.note = tell_left;
	if (!is_database(from))
		return 1;
	int ret = database_copy(from, to, &chosen, &copied, &err);
	if (ret < 0)
		message_failure(&err);
	if (care->json) {
		int status = print_copied(&copied);
		if (status)
			return status;
	} else {
		page_line("copied %" PRIu64 " epoch%s of %" PRIu64 " bytes and %" PRIu64
			  " pack%s of code of %" PRIu64 " bytes; %" PRIu64 " were there, %" PRIu64
			  " open, %" PRIu64 " left out",
			  copied.epochs, plural(copied.epochs), copied.epoch_bytes, copied.packs,
			  plural(copied.packs), copied.pack_bytes, copied.there, copied.open,
			  copied.left_out);
	}
	return ret < 0 || copied.left_out ? 1 : 0;
}
