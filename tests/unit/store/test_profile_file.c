#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include <sqlite3.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/sanitizers.h"
#include "base/small_file.h"
#include "profile/profile.h"
#include "store/chunk.h"
#include "store/file_source.h"
#include "store/profile_file.h"
#include "store/profile_reader.h"
#include "support/long_form.h"
#include "support/random_profile.h"
#include "support/temporary_folder.h"
#include "symbol/record.h"

#define SEEDS 40

static struct buffer encoded(const struct profile *profile)
{
	struct buffer bytes = { 0 };
	struct error err = { 0 };
	if (profile_file_encode(profile, &bytes, &err) < 0)
		fail_msg("%s", err.text);
	return bytes;
}

static struct profile *decoded(const struct buffer *bytes)
{
	struct profile *profile = NULL;
	struct error err = { 0 };
	if (profile_file_decode(bytes->data, bytes->size, "t", &profile, NULL, &err) < 0)
		fail_msg("%s", err.text);
	return profile;
}

static void assert_same_bytes(const struct buffer *a, const struct buffer *b)
{
	assert_int_equal(a->size, b->size);
	assert_memory_equal(a->data, b->data, a->size);
}

static bool same_content(const struct profile *a, const struct profile *b)
{
	CLEANUP(profile_freep) struct profile *left = NULL;
	CLEANUP(profile_freep) struct profile *right = NULL;
	assert_int_equal(profile_canonical(a, &left), 0);
	assert_int_equal(profile_canonical(b, &right), 0);
	return profiles_are_identical(left, right);
}

static enum random_profile_kind kind_of(uint64_t seed)
{
	return seed % 2 ? RANDOM_WITH_STRANGERS : RANDOM_KNOWN;
}

static void write_read_write_gives_the_same_bytes(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		CLEANUP(profile_freep)
		struct profile *profile = random_profile_new(seed, kind_of(seed));
		CLEANUP(buffer_release) struct buffer first = encoded(profile);
		CLEANUP(profile_freep) struct profile *read = decoded(&first);
		assert_true(same_content(profile, read));
		CLEANUP(buffer_release) struct buffer second = encoded(read);
		assert_same_bytes(&first, &second);
	}
}

static struct profile *merged(const uint64_t *seeds, size_t count)
{
	struct profile *into = profile_new();
	struct error err = { 0 };
	for (size_t i = 0; i < count; i++) {
		CLEANUP(profile_freep)
		struct profile *one = random_profile_new(seeds[i], kind_of(seeds[i]));
		if (profile_merge(into, one, &err) < 0)
			fail_msg("%s", err.text);
	}
	return into;
}

static void merging_in_any_order_gives_the_same_bytes(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < SEEDS; seed += 3) {
		const uint64_t abc[] = { seed, seed + 1, seed + 2 };
		const uint64_t cab[] = { seed + 2, seed, seed + 1 };
		CLEANUP(profile_freep) struct profile *left = merged(abc, 3);
		CLEANUP(profile_freep) struct profile *right = merged(cab, 3);
		/* a + (b + c), through a file in between */
		CLEANUP(profile_freep) struct profile *bc = merged(abc + 1, 2);
		CLEANUP(buffer_release) struct buffer bc_bytes = encoded(bc);
		CLEANUP(profile_freep) struct profile *bc_read = decoded(&bc_bytes);
		CLEANUP(profile_freep) struct profile *nested = merged(abc, 1);
		struct error err = { 0 };
		assert_int_equal(profile_merge(nested, bc_read, &err), 0);
		CLEANUP(buffer_release) struct buffer a = encoded(left);
		CLEANUP(buffer_release) struct buffer b = encoded(right);
		CLEANUP(buffer_release) struct buffer c = encoded(nested);
		assert_same_bytes(&a, &b);
		assert_same_bytes(&a, &c);
	}
}

static void an_empty_profile_is_small(void **state)
{
	(void)state;
	CLEANUP(profile_freep) struct profile *empty = profile_new();
	CLEANUP(buffer_release) struct buffer bytes = encoded(empty);
	assert_true(bytes.size <= 16384);
	CLEANUP(profile_freep) struct profile *read = decoded(&bytes);
	assert_true(same_content(empty, read));
}

/* An error, or exactly what the whole file gives: nothing in between. Returns whether it was
 * accepted. */
static bool refused_or_same(const uint8_t *bytes, size_t size, const struct profile *wanted)
{
	struct profile *read = NULL;
	struct error err = { 0 };
	int ret = profile_file_decode(bytes, size, "t", &read, NULL, &err);
	if (ret < 0) {
		assert_true(ret == -EBADMSG || ret == -EPROTO || ret == -EPROTONOSUPPORT);
		assert_true(strlen(err.text) > 10);
		return false;
	}
	/* rows in the order of the file, and so in the same one */
	bool same = profiles_are_identical(read, wanted);
	profile_free(read);
	assert_true(same);
	return true;
}

static void a_truncated_file_is_refused_at_every_length(void **state)
{
	(void)state;
	CLEANUP(profile_freep)
	struct profile *profile = random_profile_new(7, RANDOM_WITH_STRANGERS);
	CLEANUP(buffer_release) struct buffer bytes = encoded(profile);
	CLEANUP(profile_freep) struct profile *whole = decoded(&bytes);
	/* Sanitizers see one length in 8. */
	for (size_t size = 0; size < bytes.size; size += SANITIZERS && !LONG_FORM ? 8 : 1)
		assert_false(refused_or_same(bytes.data, size, whole));
	assert_true(refused_or_same(bytes.data, bytes.size, whole));
}

/* ---- which bytes of the file say something */

/* Table b-trees as of sqlite.org/fileformat2.html, all sizes as we write them. */
struct map {
	const uint8_t *bytes;
	size_t size;
	size_t page;
	bool *live;
};

enum tree { TREE_SCHEMA, TREE_WITH_ID, TREE_PLAIN };

static void mark(struct map *map, size_t at, size_t count)
{
	assert_true(at + count <= map->size);
	memset(map->live + at, 1, count);
}

static uint32_t number_at(const struct map *map, size_t at, size_t count)
{
	uint32_t value = 0;
	for (size_t i = 0; i < count; i++)
		value = (value << 8) | map->bytes[at + i];
	return value;
}

/* SQLite's varint: big-endian groups of 7, the ninth byte whole. */
static uint64_t varint_at(const struct map *map, size_t *at)
{
	uint64_t value = 0;
	for (int i = 0; i < 9; i++) {
		uint8_t byte = map->bytes[(*at)++];
		value = i == 8 ? (value << 8) | byte : (value << 7) | (byte & 0x7f);
		if (i == 8 || !(byte & 0x80))
			break;
	}
	return value;
}

/* Of a payload what lies in the leaf; the rest is in pages of its own. */
static size_t local_size(size_t usable, uint64_t payload)
{
	size_t most = usable - 35;
	size_t least = (usable - 12) * 32 / 255 - 23;
	size_t local = payload;
	if (payload > most) {
		local = least + (payload - least) % (usable - 4);
		local = local > most ? least : local;
	}
	return local;
}

static void mark_leaf_cell(struct map *map, size_t at, enum tree tree)
{
	size_t begin = at;
	uint64_t payload = varint_at(map, &at);
	size_t rowid = at;
	varint_at(map, &at);
	size_t usable = map->page;
	size_t local = local_size(usable, payload);
	mark(map, begin, rowid - begin);
	if (tree != TREE_SCHEMA) /* its rows have names; their numbers are nobody's */
		mark(map, rowid, at - rowid);
	mark(map, at, local + (payload > local ? 4 : 0));
	if (tree == TREE_WITH_ID)
		map->live[at + 1] = false; /* the type of "id", which is the row's number */
	uint32_t next = payload > local ? number_at(map, at + local, 4) : 0;
	for (uint64_t left = payload - local; left;) {
		size_t part = left < usable - 4 ? left : usable - 4;
		size_t start = (size_t)(next - 1) * map->page;
		left -= part;
		mark(map, start + (left ? 0 : 4), part + (left ? 4 : 0));
		next = number_at(map, start, 4);
	}
}

/* Keys of inner pages, counts of free bytes and where the free space begins are not marked: a scan
 * does not need them. */
static void mark_tree(struct map *map, uint32_t number, enum tree tree)
{
	size_t page = (size_t)(number - 1) * map->page;
	size_t head = page + (number == 1 ? 100 : 0);
	bool inner = map->bytes[head] == 5;
	assert_true(inner || map->bytes[head] == 13);
	uint32_t cells = number_at(map, head + 3, 2);
	size_t pointers = head + (inner ? 12 : 8);
	mark(map, head, 1);
	mark(map, head + 3, 2);
	mark(map, pointers, 2 * cells);
	if (inner) {
		mark(map, head + 8, 4);
		mark_tree(map, number_at(map, head + 8, 4), tree);
	}
	for (uint32_t i = 0; i < cells; i++) {
		size_t cell = page + number_at(map, pointers + 2 * i, 2);
		if (inner) {
			mark(map, cell, 4);
			mark_tree(map, number_at(map, cell, 4), tree);
		} else {
			mark_leaf_cell(map, cell, tree);
		}
	}
}

/* A table's first page is the fourth column of its row in the schema: an integer of one byte here.
 */
static void mark_file(struct map *map)
{
	static const size_t header[][2] = { { 0, 18 }, { 20, 4 }, { 28, 4 },
					    { 56, 4 }, { 60, 4 }, { 68, 4 } };
	map->page = number_at(map, 16, 2);
	for (size_t i = 0; i < sizeof(header) / sizeof(header[0]); i++)
		mark(map, header[i][0], header[i][1]);
	mark_tree(map, 1, TREE_SCHEMA);
	sqlite3 *db = NULL;
	sqlite3_stmt *roots = NULL;
	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	assert_int_equal(sqlite3_deserialize(db, "main", (unsigned char *)map->bytes,
					     (sqlite3_int64)map->size, (sqlite3_int64)map->size,
					     SQLITE_DESERIALIZE_READONLY),
			 SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(
				 db, "SELECT rootpage,sql LIKE '%PRIMARY KEY%' FROM sqlite_schema",
				 -1, &roots, NULL),
			 SQLITE_OK);
	while (sqlite3_step(roots) == SQLITE_ROW)
		mark_tree(map, (uint32_t)sqlite3_column_int(roots, 0),
			  sqlite3_column_int(roots, 1) ? TREE_WITH_ID : TREE_PLAIN);
	sqlite3_finalize(roots);
	sqlite3_close(db);
}

/* Free space is long, and a byte of it like the next: the short form takes where it meets what is
 * live, and one in 16 of the rest. That all are refused is shown without sanitizers, which see one
 * in 8. */
static bool flipped_in_this_form(const struct map *map, size_t at)
{
	bool edge = (at && map->live[at - 1]) || (at + 1 < map->size && map->live[at + 1]);
	if (LONG_FORM)
		return true;
	return SANITIZERS ? at % 8 == 0 : map->live[at] || edge || at % 16 == 0;
}

/* Every flip in what is live is refused; elsewhere it is refused or changes nothing that is read.
 */
static void a_flipped_byte_is_refused_where_it_says_something(void **state)
{
	(void)state;
	CLEANUP(profile_freep)
	struct profile *profile = random_profile_new(7, RANDOM_WITH_STRANGERS);
	CLEANUP(buffer_release) struct buffer bytes = encoded(profile);
	CLEANUP(free_pointer) bool *live = calloc(bytes.size, sizeof(*live));
	struct map map = { bytes.data, bytes.size, 0, live };
	mark_file(&map);
	CLEANUP(profile_freep) struct profile *whole = decoded(&bytes);
	assert_true(same_content(whole, profile));
	size_t live_count = 0, unseen = 0;
	for (size_t at = 0; at < bytes.size; at++) {
		if (!flipped_in_this_form(&map, at))
			continue;
		uint8_t before = bytes.data[at];
		const uint8_t flips[] = { (uint8_t)(before ^ (1u << (at % 8))), (uint8_t)~before };
		live_count += live[at];
		/* Where nothing is said, one of them by turns. */
		int first = live[at] ? 0 : (int)(at / 16 % 2);
		for (int i = first; i < 2 && (i == first || live[at]); i++) {
			bytes.data[at] = flips[i];
			bool accepted = refused_or_same(bytes.data, bytes.size, whole);
			unseen += accepted;
			if (accepted && live[at])
				fail_msg("byte %zu: %02x instead of %02x is not noticed", at,
					 flips[i], before);
		}
		bytes.data[at] = before;
	}
	assert_true(live_count > bytes.size / (LONG_FORM || !SANITIZERS ? 4 : 40));
	print_message("%zu bytes, %zu live; %zu flips changed nothing that is read\n", bytes.size,
		      live_count, unseen);
}

/* ---- strangers' files */

static int refuse(const void *bytes, size_t size, struct error *err)
{
	struct profile *profile = NULL;
	int ret = profile_file_decode(bytes, size, "t", &profile, NULL, err);
	assert_null(profile);
	return ret;
}

/* The file after SQL that its own author would never run. */
static struct buffer forged_of(const struct profile *profile, const char *sql)
{
	CLEANUP(buffer_release) struct buffer bytes = encoded(profile);
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
	const char *path = temporary_folder_path(&folder, "f");
	struct buffer out = { 0 };
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes.data, 1, bytes.size, file), bytes.size);
	assert_int_equal(fclose(file), 0);
	sqlite3 *db = NULL;
	char *message = NULL;
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK)
		fail_msg("%s", message);
	sqlite3_close(db);
	assert_int_equal(small_file_read(path, 1 << 24, &out), 0);
	return out;
}

static struct buffer forged(const char *sql)
{
	CLEANUP(profile_freep) struct profile *profile = random_profile_new(3, RANDOM_KNOWN);
	return forged_of(profile, sql);
}

static void a_forged_schema_is_refused_in_one_sentence(void **state)
{
	(void)state;
	static const struct {
		const char *sql, *says;
	} forgeries[] = {
		{ "CREATE VIEW endless AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 "
		  "FROM n) SELECT i FROM n",
		  "a view 'endless'" },
		{ "DROP TABLE chunk; CREATE VIEW chunk AS WITH RECURSIVE n(i) AS (SELECT 1 UNION "
		  "ALL SELECT i+1 FROM n) SELECT 1 relation,1 event,1 image,i first,1 rows,x'00' "
		  "data FROM n",
		  "a view 'chunk'" },
		{ "CREATE INDEX fast ON chunk(relation)", "an index 'fast'" },
		{ "CREATE TRIGGER bad AFTER INSERT ON meta BEGIN DELETE FROM chunk; END",
		  "a trigger 'bad'" },
		{ "CREATE VIRTUAL TABLE words USING fts5(t)", "a table 'words'" },
		{ "CREATE TABLE extra(x)", "a table 'extra'" },
		{ "DROP TABLE meta; CREATE TABLE meta(name TEXT,value BLOB,more AS (1))",
		  "a form of table 'meta'" },
		{ "ALTER TABLE image ADD COLUMN more", "a form of table 'image'" },
		{ "DROP TABLE source", "it lacks a table" },
		{ "DELETE FROM meta", "it has no proper seal" },
		{ "UPDATE meta SET value=zeroblob(16)", "its seal does not fit its content" },
		{ "DELETE FROM chunk WHERE rowid=2", "its seal does not fit its content" },
		{ "UPDATE relation SET columns=replace(columns,'vaddr:u64','vaddr:bytes')",
		  "a known column is declared differently" },
		{ "UPDATE relation SET columns='x:y:z' WHERE name='flat'",
		  "a column has an unknown type" },
		{ "INSERT INTO relation VALUES(99,'flat','a:u64:key')", "it is declared twice" },
		{ "PRAGMA user_version=2", "has format version 2" },
		{ "PRAGMA application_id=1", "an SQLite database of another program" },
		{ "PRAGMA encoding='UTF-8'; PRAGMA journal_mode=WAL", "it was never closed" },
	};
	for (size_t i = 0; i < sizeof(forgeries) / sizeof(forgeries[0]); i++) {
		CLEANUP(buffer_release) struct buffer bytes = forged(forgeries[i].sql);
		struct error err = { 0 };
		assert_true(refuse(bytes.data, bytes.size, &err) < 0);
		if (!strstr(err.text, forgeries[i].says) || strchr(err.text, '\n'))
			fail_msg("%s: \"%s\" does not say \"%s\"", forgeries[i].sql, err.text,
				 forgeries[i].says);
	}
}

static uint32_t root_of_chunks(const struct buffer *bytes)
{
	sqlite3 *db = NULL;
	sqlite3_stmt *root = NULL;
	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	assert_int_equal(sqlite3_deserialize(db, "main", bytes->data, (sqlite3_int64)bytes->size,
					     (sqlite3_int64)bytes->size,
					     SQLITE_DESERIALIZE_READONLY),
			 SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db,
					    "SELECT rootpage FROM sqlite_schema WHERE name='chunk'",
					    -1, &root, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_step(root), SQLITE_ROW);
	uint32_t number = (uint32_t)sqlite3_column_int(root, 0);
	sqlite3_finalize(root);
	sqlite3_close(db);
	return number;
}

/* All rows of a leaf whose end lies elsewhere get the pages of the first one, and the file ends
 * behind these. */
static size_t share_pages(struct buffer *bytes, uint32_t leaf)
{
	struct map map = { bytes->data, bytes->size, 0, NULL };
	map.page = number_at(&map, 16, 2);
	size_t page = (size_t)(leaf - 1) * map.page;
	uint32_t cells = number_at(&map, page + 3, 2);
	uint8_t *first = NULL;
	size_t shared = 0, left = 0;
	assert_int_equal(map.bytes[page], 13);
	for (uint32_t i = 0; i < cells; i++) {
		size_t at = page + number_at(&map, page + 8 + 2 * i, 2);
		uint64_t payload = varint_at(&map, &at);
		varint_at(&map, &at);
		size_t local = local_size(map.page, payload);
		if (payload == local)
			continue;
		uint8_t *pointer = bytes->data + at + local;
		left = payload - local;
		if (first)
			memcpy(pointer, first, 4);
		first = first ? first : pointer;
		shared++;
	}
	assert_true(shared > 1);
	uint32_t number = number_at(&map, (size_t)(first - bytes->data), 4), last = 0;
	for (; left; left -= left < map.page - 4 ? left : map.page - 4) {
		last = number > last ? number : last;
		number = number_at(&map, (size_t)(number - 1) * map.page, 4);
	}
	const uint8_t pages[] = { (uint8_t)(last >> 24), (uint8_t)(last >> 16),
				  (uint8_t)(last >> 8), (uint8_t)last };
	memcpy(bytes->data + 28, pages, sizeof(pages));
	bytes->size = last * map.page;
	return shared;
}

/* Each row is a whole one: a small file would be read for as long as its author likes. */
static void rows_that_share_their_pages_are_refused(void **state)
{
	(void)state;
	CLEANUP(profile_freep) struct profile *profile = profile_new();
	CLEANUP(buffer_release)
	struct buffer bytes = forged_of(
		profile, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<4)"
			 "INSERT INTO chunk SELECT 1,0,0,i,1,zeroblob(100000) FROM n");
	struct error err = { 0 };
	assert_int_equal(share_pages(&bytes, root_of_chunks(&bytes)), 4);
	assert_true(bytes.size < 200000);
	assert_int_equal(refuse(bytes.data, bytes.size, &err), -EBADMSG);
	assert_string_equal(err.text,
			    "profile 't' is damaged: the rows of 'chunk' are out of order");
}

static void what_is_no_profile_is_named(void **state)
{
	(void)state;
	static const struct {
		const char *bytes;
		size_t size;
		int code;
		const char *says;
	} files[] = {
		{ "", 0, -EPROTO, "'t' is no profile: it is empty" },
		{ "\x7f"
		  "ELF\x02\x01\x01",
		  7, -EPROTO, "'t' is no profile but an ELF file (a program or library)" },
		{ "PERFILE2", 8, -EPROTO, "'t' is no profile file but a perf.data file" },
		{ "main;work 12\n", 13, -EPROTO, "'t' is no profile but a text file" },
		{ "\x01\x02\x03", 3, -EPROTO, "'t' is no profile" },
		{ "SQLite format 3", 16, -EBADMSG,
		  "profile 't' is truncated: it ends at byte 16, inside its header" },
	};
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		struct error err = { 0 };
		assert_int_equal(refuse(files[i].bytes, files[i].size, &err), files[i].code);
		assert_string_equal(err.text, files[i].says);
	}
}

/* Content of few bytes that unpacks to much: the reader's own limit holds the writer back. */
static void rows_that_compress_to_nothing_are_read_back(void **state)
{
	(void)state;
	CLEANUP(profile_freep) struct profile *profile = profile_new();
	struct profile_event event = { .name = span_of_text("e") };
	uint32_t id;
	assert_int_equal(profile_add_event(profile, &event, &id), 0);
	const struct cell cell = { 1, 1, 1 };
	for (uint64_t i = 0; i < 1500000; i++) {
		const struct profile_frame leaf = { .vaddr = i };
		assert_int_equal(profile_add_flat(profile, id, 0, &leaf, &cell), 0);
	}
	CLEANUP(buffer_release) struct buffer bytes = encoded(profile);
	CLEANUP(profile_freep) struct profile *read = decoded(&bytes);
	assert_int_equal(profile_table(read, PROFILE_FLAT)->count, 1500000);
}

/* Numbers take less in a file than their digits do. */
static void rows_of_large_numbers_are_read_back(void **state)
{
	(void)state;
	CLEANUP(profile_freep) struct profile *profile = profile_new();
	const struct profile_event event = { .name = span_of_text("e") };
	const struct profile_frame leaf = { .vaddr = 1 };
	const struct cell cell = { 1, 1, 1 };
	uint32_t id;
	assert_int_equal(profile_add_event(profile, &event, &id), 0);
	for (uint64_t i = 0; i < 3000; i++) {
		const uint64_t number = INT64_MAX - i;
		const struct profile_context context = {
			.pid = optional_of(number),
			.tid = optional_of(number),
			.start_ns = optional_of(number),
		};
		uint32_t who;
		assert_int_equal(profile_add_context(profile, &context, &who), 0);
		assert_int_equal(profile_add_flat(profile, id, who, &leaf, &cell), 0);
	}
	CLEANUP(buffer_release) struct buffer bytes = encoded(profile);
	CLEANUP(profile_freep) struct profile *read = decoded(&bytes);
	assert_int_equal(profile_table(read, PROFILE_CONTEXT)->count, 3000);
	assert_true(same_content(profile, read));
}

/* A blob longer than any chunk goes in pieces. */
/* Large ones must not keep who records waiting. */
static void what_is_large_is_packed_faster_after_its_beginning(void **state)
{
	(void)state;
	CLEANUP(profile_freep) struct profile *profile = profile_new();
	struct chunk_coder coder;
	chunk_coder_init(&coder);
	struct table *nodes = profile->tables[PROFILE_NODE];
	const uint64_t keys[] = { [NODE_NAME] = 0 };
	for (size_t i = 0; i < 4096; i++)
		assert_int_equal(table_append(nodes, keys, NULL), 0);
	for (size_t i = 0; i < nodes->count; i++)
		nodes->keys[i * nodes->key_slots + NODE_VADDR] = hash_u64(i);
	uint64_t bytes = 0;
	while (bytes <= CHUNK_THOROUGH_BYTES) {
		assert_int_equal(coder.level, CHUNK_LEVEL_CLOSED);
		assert_int_equal(chunk_encode_rows(&coder, nodes, 0, nodes->count, NULL), 0);
		bytes += coder.raw.size;
	}
	assert_int_equal(coder.level, CHUNK_LEVEL_OPEN);
	assert_int_equal(chunk_encode_rows(&coder, nodes, 0, nodes->count, NULL), 0);
	size_t count;
	const struct column *columns = profile_columns(PROFILE_NODE, &count);
	struct chunk chunk;
	CLEANUP(buffer_release) struct buffer stored = { 0 };
	buffer_append(&stored, coder.stored.data, coder.stored.size);
	assert_null(chunk_decode(&coder, (struct span){ stored.data, stored.size }, columns, count,
				 &chunk));
	assert_int_equal(chunk.count, nodes->count);
	assert_memory_equal(chunk.numbers, nodes->keys,
			    nodes->count * nodes->key_slots * sizeof(uint64_t));
	chunk_coder_release(&coder);
}

static void a_long_blob_is_read_back(void **state)
{
	(void)state;
	const size_t size = 9u << 20;
	CLEANUP(free_pointer) uint8_t *blob = malloc(size);
	for (size_t i = 0; i < size; i++)
		blob[i] = (uint8_t)(hash_u64(i / 3) >> 5);
	CLEANUP(profile_freep) struct profile *profile = random_profile_new(1, RANDOM_KNOWN);
	uint32_t id;
	assert_int_equal(profile_add_bytes(profile, (struct span){ blob, size }, &id), 0);
	const uint64_t row[] = { 1, 2, 0, size - 1, id };
	assert_int_equal(table_add(profile->tables[PROFILE_STASH], row, NULL, NULL), 0);
	CLEANUP(buffer_release) struct buffer bytes = encoded(profile);
	CLEANUP(profile_freep) struct profile *read = decoded(&bytes);
	assert_true(same_content(profile, read));
}

/* ---- reading without code */

static void add_stash_row(struct profile *profile, uint64_t kind, uint64_t first,
			  const char *content)
{
	uint32_t id;
	assert_int_equal(profile_add_bytes(profile, span_of_text(content), &id), 0);
	const uint64_t row[] = { 1, kind, first, first + 9, id };
	assert_int_equal(table_add(profile->tables[PROFILE_STASH], row, NULL, NULL), 0);
}

static int read_without_code(const struct buffer *bytes, bool ignore_seal, struct profile **out,
			     struct profile_reader_counts *counts, struct error *err)
{
	CLEANUP(file_source_close) struct file_source source = { 0 };
	int ret = file_source_of_bytes(&source, bytes->data, bytes->size, "t", err);
	const struct profile_reader_options options = { .name = "t",
							.file_bytes = bytes->size,
							.ignore_seal = ignore_seal,
							.without_code = true };
	return ret < 0 ? ret : profile_reader_load(&source.guard, &options, out, counts, err);
}

static void what_is_read_without_code_lacks_only_its_rows(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		CLEANUP(profile_freep)
		struct profile *whole = random_profile_new(seed, kind_of(seed));
		CLEANUP(profile_freep)
		struct profile *bare = random_profile_new(seed, kind_of(seed));
		struct profile *both[] = { whole, bare };
		for (int i = 0; i < 2; i++) {
			add_stash_row(both[i], RECORD_FUNCTION, 100, "a function");
			add_stash_row(both[i], RECORD_LINES, 100, "lines");
			/* named as code too, but by a function first: it lies among those */
			add_stash_row(both[i], RECORD_CODE, 200, "a function");
		}
		add_stash_row(whole, RECORD_CODE, 100, "code");
		add_stash_row(whole, RECORD_CODE, 300, "more code");
		add_stash_row(whole, 77, 100, "of a later version");
		CLEANUP(buffer_release) struct buffer bytes = encoded(whole);
		CLEANUP(profile_freep) struct profile *read = NULL;
		struct profile_file_info part, all;
		struct error err = { 0 };
		if (profile_file_decode_part(bytes.data, bytes.size, "t", PROFILE_FILE_WITHOUT_CODE,
					     &read, &part, &err) < 0)
			fail_msg("%s", err.text);
		assert_true(same_content(read, bare));
		CLEANUP(profile_freep) struct profile *again = NULL;
		assert_int_equal(
			profile_file_decode(bytes.data, bytes.size, "t", &again, &all, &err), 0);
		assert_true(same_content(again, whole));
		assert_int_equal(part.stash_bytes, all.stash_bytes);
		CLEANUP(profile_freep) struct profile *third = NULL;
		struct profile_reader_counts counts;
		assert_int_equal(read_without_code(&bytes, false, &third, &counts, &err), 0);
		assert_int_equal(counts.rows_left_out, 3);
	}
}

static void code_that_is_left_out_is_sealed_all_the_same(void **state)
{
	(void)state;
	CLEANUP(profile_freep) struct profile *profile = random_profile_new(5, RANDOM_KNOWN);
	add_stash_row(profile, RECORD_CODE, 100, "code");
	CLEANUP(buffer_release)
	struct buffer bytes =
		forged_of(profile, "UPDATE chunk SET data=x'00' WHERE relation=0 AND event=2");
	CLEANUP(profile_freep) struct profile *read = NULL;
	struct error err = { 0 };
	assert_int_equal(read_without_code(&bytes, false, &read, NULL, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "its seal does not fit its content"));
	/* what is left out is not even looked at */
	assert_int_equal(read_without_code(&bytes, true, &read, NULL, &err), 0);
}

static void who_else_names_what_is_left_out_is_damaged(void **state)
{
	(void)state;
	/* texts given out as code: named by a cell, by a function */
	for (int i = 0; i < 2; i++) {
		CLEANUP(profile_freep) struct profile *profile = profile_new();
		const struct profile_event event = { .name = span_of_text("e") };
		const struct profile_image image = { .kind = IMAGE_FILE };
		const struct cell cell = { 1, 1, 1 };
		struct profile_frame leaf = { .vaddr = 0 };
		uint32_t id;
		assert_int_equal(profile_add_event(profile, &event, &id), 0);
		assert_int_equal(profile_add_image(profile, &image, &id), 0);
		assert_int_equal(profile_add_bytes(profile, span_of_text("work"), &leaf.name), 0);
		if (i == 0)
			assert_int_equal(profile_add_flat(profile, 1, 0, &leaf, &cell), 0);
		else
			add_stash_row(profile, RECORD_FUNCTION, 0, "work");
		CLEANUP(buffer_release)
		struct buffer bytes =
			forged_of(profile, "UPDATE chunk SET event=2 WHERE relation=0");
		CLEANUP(profile_freep) struct profile *read = NULL;
		struct error err = { 0 };
		assert_int_equal(read_without_code(&bytes, true, &read, NULL, &err), -EBADMSG);
		assert_string_equal(err.text,
				    i == 0 ? "profile 't' is damaged: chunk 2 (flat): row 0: it "
					     "names bytes that lie among code"
					   : "profile 't' is damaged: chunk 2 (stash): row 0: it "
					     "names bytes that lie among code");
	}
}

/* ---- files of earlier versions */

static void an_event_of_too_many_decimals_is_refused(void **state)
{
	(void)state;
	for (uint64_t scale = PROFILE_MOST_DECIMALS; scale <= PROFILE_MOST_DECIMALS + 1; scale++) {
		CLEANUP(profile_freep) struct profile *profile = profile_new();
		CLEANUP(profile_freep) struct profile *read = NULL;
		const struct profile_event event = { .name = span_of_text("cycles"),
						     .scale = scale };
		struct error err = { 0 };
		uint32_t id;
		assert_int_equal(profile_add_event(profile, &event, &id), 0);
		CLEANUP(buffer_release) struct buffer bytes = encoded(profile);
		int ret = profile_file_decode(bytes.data, bytes.size, "t", &read, NULL, &err);
		if (scale == PROFILE_MOST_DECIMALS) {
			assert_int_equal(ret, 0);
			continue;
		}
		assert_int_equal(ret, -EBADMSG);
		assert_string_equal(err.text,
				    "profile 't' is damaged: event 1: its scale is above 18");
	}
}

static void version_1_stays_readable(void **state)
{
	(void)state;
	const char *source = getenv("SOURCE");
	if (!source)
		source = CULPRIT_SOURCE;
	CLEANUP(free_pointer) char *path = NULL;
	assert_true(asprintf(&path, "%s/tests/data/profile-v1.prof", source) > 0);
	CLEANUP(profile_freep) struct profile *read = NULL;
	struct error err = { 0 };
	if (profile_file_read(path, &read, NULL, &err) < 0)
		fail_msg("%s", err.text);
	/* What tests/tools/make-profile-fixture.c made it of. */
	CLEANUP(profile_freep)
	struct profile *wanted = random_profile_new(2026, RANDOM_WITH_STRANGERS);
	assert_true(same_content(read, wanted));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(write_read_write_gives_the_same_bytes),
		cmocka_unit_test(merging_in_any_order_gives_the_same_bytes),
		cmocka_unit_test(an_empty_profile_is_small),
		cmocka_unit_test(a_truncated_file_is_refused_at_every_length),
		cmocka_unit_test(a_flipped_byte_is_refused_where_it_says_something),
		cmocka_unit_test(a_forged_schema_is_refused_in_one_sentence),
		cmocka_unit_test(rows_that_share_their_pages_are_refused),
		cmocka_unit_test(what_is_no_profile_is_named),
		cmocka_unit_test(rows_that_compress_to_nothing_are_read_back),
		cmocka_unit_test(rows_of_large_numbers_are_read_back),
		cmocka_unit_test(what_is_large_is_packed_faster_after_its_beginning),
		cmocka_unit_test(a_long_blob_is_read_back),
		cmocka_unit_test(what_is_read_without_code_lacks_only_its_rows),
		cmocka_unit_test(code_that_is_left_out_is_sealed_all_the_same),
		cmocka_unit_test(who_else_names_what_is_left_out_is_damaged),
		cmocka_unit_test(an_event_of_too_many_decimals_is_refused),
		cmocka_unit_test(version_1_stays_readable),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
