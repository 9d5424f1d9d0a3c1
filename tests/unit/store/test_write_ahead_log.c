/* What SQLite wrote into its log reads as SQLite reads it, and no byte of it leads astray. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "store/write_ahead_log.h"
#include "support/temporary_folder.h"

#define PAGE_BYTES  512
#define FRAME_BYTES (24 + PAGE_BYTES)
#define COMMITS	    5
#define LIMIT	    (UINT64_C(1) << 24)

/* A database in WAL mode as its files are, and all of it after each transaction. */
static struct {
	struct buffer pages, log;
	struct buffer states[COMMITS + 1];
	size_t ends[COMMITS + 1]; /* of the log, after each */
} made;

struct bytes {
	const uint8_t *data;
	size_t size;
	int headers_left; /* readings of the header until another log's comes; 0: it never does */
};

static long read_bytes(void *context, void *out, size_t size, uint64_t offset)
{
	struct bytes *bytes = context;
	if (offset >= bytes->size)
		return 0;
	size_t got = bytes->size - (size_t)offset;
	got = got < size ? got : size;
	memcpy(out, bytes->data + offset, got);
	if (offset == 0 && bytes->headers_left && --bytes->headers_left == 0)
		((uint8_t *)out)[20] ^= 1;
	return (long)got;
}

static void must(sqlite3 *db, const char *sql)
{
	if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
}

static void read_file(const char *path, struct buffer *out)
{
	CLEANUP(close_file) FILE *file = fopen(path, "re");
	out->size = 0;
	for (int byte; file && (byte = getc(file)) != EOF;)
		buffer_append_u8(out, (uint8_t)byte);
}

static void note_state(sqlite3 *db, int commit, const char *log_path)
{
	sqlite3_int64 size;
	unsigned char *bytes = sqlite3_serialize(db, "main", &size, 0);
	assert_non_null(bytes);
	buffer_append(&made.states[commit], bytes, (size_t)size);
	sqlite3_free(bytes);
	read_file(log_path, &made.log);
	made.ends[commit] = made.log.size;
}

/* Tables that grow, shrink and go. */
static int make(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
	char path[300], log_path[300];
	sqlite3 *db;
	snprintf(path, sizeof(path), "%s/d", folder.path);
	snprintf(log_path, sizeof(log_path), "%s/d-wal", folder.path);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	must(db, "PRAGMA page_size=512; PRAGMA auto_vacuum=FULL; CREATE TABLE t(a, b);"
		 "PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0");
	read_file(path, &made.pages);
	note_state(db, 0, log_path);
	static const char *const steps[COMMITS] = {
		"INSERT INTO t VALUES(1, zeroblob(3000)), (2, 'two')",
		"INSERT INTO t SELECT a + 2, randomblob(700) FROM t",
		"CREATE TABLE u AS SELECT * FROM t; CREATE INDEX i ON u(a)",
		"DELETE FROM t WHERE a > 1",
		"UPDATE u SET b = a; INSERT INTO t VALUES(9, 'nine')",
	};
	for (int i = 0; i < COMMITS; i++) {
		CLEANUP(buffer_release) struct buffer sql = { 0 };
		buffer_printf(&sql, "BEGIN; %s; COMMIT", steps[i]);
		must(db, buffer_text(&sql));
		note_state(db, i + 1, log_path);
	}
	sqlite3_close(db);
	return made.ends[COMMITS] > 20 * FRAME_BYTES ? 0 : -1;
}

static int forget(void **state)
{
	(void)state;
	buffer_release(&made.pages);
	buffer_release(&made.log);
	for (int i = 0; i <= COMMITS; i++)
		buffer_release(&made.states[i]);
	return 0;
}

static int apply(const void *log, size_t size, struct buffer *pages, uint64_t *log_bytes)
{
	struct bytes bytes = { .data = log, .size = size };
	buffer_append(pages, made.pages.data, made.pages.size);
	return write_ahead_log_apply(read_bytes, &bytes, pages, LIMIT, log_bytes);
}

/* The number of transactions that `pages` have, or -1 when they are nothing that ever was. */
static int commits_in(const struct buffer *pages)
{
	for (int i = COMMITS; i >= 0; i--)
		if (pages->size == made.states[i].size &&
		    memcmp(pages->data, made.states[i].data, pages->size) == 0)
			return i;
	return -1;
}

static void a_log_cut_anywhere_holds_what_was_committed_before(void **state)
{
	(void)state;
	for (size_t size = 0; size <= made.log.size; size++) {
		CLEANUP(buffer_release) struct buffer pages = { 0 };
		uint64_t log_bytes;
		int wanted = 0;
		while (wanted < COMMITS && made.ends[wanted + 1] <= size)
			wanted++;
		assert_int_equal(apply(made.log.data, size, &pages, &log_bytes), 0);
		assert_int_equal(commits_in(&pages), wanted);
		assert_int_equal(log_bytes, wanted ? made.ends[wanted] : 0);
	}
}

static void a_flipped_byte_ends_the_log_before_it(void **state)
{
	(void)state;
	for (size_t at = 0; at < made.log.size; at++) {
		CLEANUP(buffer_release) struct buffer pages = { 0 };
		uint64_t log_bytes;
		int most = 0;
		while (made.ends[most + 1] <= at)
			most++;
		made.log.data[at] ^= 0x55;
		assert_int_equal(apply(made.log.data, made.log.size, &pages, &log_bytes), 0);
		made.log.data[at] ^= 0x55;
		/* The number of the header's checkpoint is under its sum as well. */
		assert_int_equal(commits_in(&pages), at < 32 ? 0 : most);
	}
}

static uint32_t be32(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static void put_be32(uint8_t *at, uint32_t value)
{
	for (int i = 0; i < 4; i++)
		at[i] = (uint8_t)(value >> (24 - 8 * i));
}

static void add_sums(uint32_t sums[2], const uint8_t *at, size_t size, bool big_endian)
{
	for (size_t i = 0; i < size; i += 8) {
		uint32_t words[2];
		memcpy(words, at + i, 8);
		if (big_endian) {
			words[0] = be32(at + i);
			words[1] = be32(at + i + 4);
		}
		sums[0] += words[0] + sums[1];
		sums[1] += words[1] + sums[0];
	}
}

/* As a forger does: all sums right again. */
static void sum_again(struct buffer *log, bool big_endian)
{
	uint32_t sums[2] = { 0 };
	put_be32(log->data, 0x377f0682u + big_endian);
	add_sums(sums, log->data, 24, big_endian);
	put_be32(log->data + 24, sums[0]);
	put_be32(log->data + 28, sums[1]);
	for (size_t at = 32; at < log->size; at += FRAME_BYTES) {
		add_sums(sums, log->data + at, 8, big_endian);
		add_sums(sums, log->data + at + 24, PAGE_BYTES, big_endian);
		put_be32(log->data + at + 16, sums[0]);
		put_be32(log->data + at + 20, sums[1]);
	}
}

static void sums_of_either_byte_order_count(void **state)
{
	(void)state;
	for (int big_endian = 0; big_endian < 2; big_endian++) {
		CLEANUP(buffer_release) struct buffer log = { 0 };
		CLEANUP(buffer_release) struct buffer pages = { 0 };
		uint64_t log_bytes;
		buffer_append(&log, made.log.data, made.log.size);
		sum_again(&log, big_endian);
		assert_int_equal(apply(log.data, log.size, &pages, &log_bytes), 0);
		assert_int_equal(commits_in(&pages), COMMITS);
	}
}

/* A transaction of few bytes says that the database has 2 TB now, or writes its last page. */
static void pages_that_nobody_wrote_are_refused(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer log = { 0 };
	CLEANUP(buffer_release) struct buffer claimed = { 0 };
	CLEANUP(buffer_release) struct buffer written = { 0 };
	uint64_t log_bytes;
	size_t last = made.log.size - FRAME_BYTES;
	buffer_append(&log, made.log.data, made.log.size);
	put_be32(log.data + last + 4, 0xffffffff);
	sum_again(&log, false);
	assert_int_equal(apply(log.data, log.size, &claimed, &log_bytes), -EBADMSG);
	assert_true(claimed.capacity < 1u << 20);
	memcpy(log.data + last, made.log.data + last, 8);
	put_be32(log.data + last, 0xffffffff);
	sum_again(&log, false);
	assert_int_equal(apply(log.data, log.size, &written, &log_bytes), 0);
	assert_int_equal(written.size, made.states[COMMITS].size);
}

static void a_log_that_began_anew_is_read_again(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer pages = { 0 };
	struct bytes bytes = { .data = made.log.data, .size = made.log.size, .headers_left = 2 };
	uint64_t log_bytes;
	buffer_append(&pages, made.pages.data, made.pages.size);
	assert_int_equal(write_ahead_log_apply(read_bytes, &bytes, &pages, LIMIT, &log_bytes),
			 -EAGAIN);
}

static void more_than_the_limit_is_refused(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer pages = { 0 };
	struct bytes bytes = { .data = made.log.data, .size = made.log.size };
	uint64_t log_bytes;
	buffer_append(&pages, made.pages.data, made.pages.size);
	assert_int_equal(write_ahead_log_apply(read_bytes, &bytes, &pages,
					       made.pages.size + made.log.size / 2, &log_bytes),
			 -EFBIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_log_cut_anywhere_holds_what_was_committed_before),
		cmocka_unit_test(a_flipped_byte_ends_the_log_before_it),
		cmocka_unit_test(sums_of_either_byte_order_count),
		cmocka_unit_test(pages_that_nobody_wrote_are_refused),
		cmocka_unit_test(a_log_that_began_anew_is_read_again),
		cmocka_unit_test(more_than_the_limit_is_refused),
	};
	return cmocka_run_group_tests(tests, make, forget);
}
