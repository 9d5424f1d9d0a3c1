#include "store/profile_header.h"

#include <errno.h>
#include <string.h>

#include <sqlite3.h>

#include "base/error.h"
#include "base/span.h"
#include "store/profile_writer.h"

/* Offsets in an SQLite file's header (sqlite.org/fileformat2.html, 1.3), big-endian. */
enum {
	HEADER_PAGE_SIZE = 16,
	HEADER_WRITE_VERSION = 18,
	HEADER_READ_VERSION = 19,
	HEADER_PAGES = 28,
	HEADER_ENCODING = 56,
	HEADER_USER_VERSION = 60,
	HEADER_APPLICATION_ID = 68,
};
#define HEADER_MAGIC "SQLite format 3" /* with its NUL */
#define HEADER_WAL   2		       /* both versions in WAL mode; else 1 */

static uint32_t big_endian(const uint8_t *at, size_t size)
{
	uint32_t value = 0;
	for (size_t i = 0; i < size; i++)
		value = (value << 8) | at[i];
	return value;
}

bool profile_header_is_ours(const void *bytes, size_t size)
{
	const uint8_t *header = bytes;
	return size >= PROFILE_HEADER_BYTES &&
	       memcmp(header, HEADER_MAGIC, sizeof(HEADER_MAGIC)) == 0 &&
	       big_endian(header + HEADER_APPLICATION_ID, 4) == PROFILE_FORMAT_APPLICATION_ID;
}

static bool looks_like_text(const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size && i < 512; i++)
		if (bytes[i] < 9 || (bytes[i] > 13 && bytes[i] < 32) || bytes[i] == 127)
			return false;
	return true;
}

static int foreign(const uint8_t *bytes, size_t size, const char *name, struct error *err)
{
	const struct span head = { bytes, size };
	if (span_starts_with(head, "\x7f"
				   "ELF"))
		return error_set(err, -EPROTO,
				 "'%s' is no profile but an ELF file (a program or library)", name);
	if (span_starts_with(head, "PERFILE2"))
		return error_set(err, -EPROTO, "'%s' is no profile file but a perf.data file",
				 name);
	if (looks_like_text(bytes, size))
		return error_set(err, -EPROTO, "'%s' is no profile but a text file", name);
	return error_set(err, -EPROTO, "'%s' is no profile", name);
}

int profile_header_check(const uint8_t *bytes, size_t size, const char *name, struct error *err)
{
	size_t magic = size < sizeof(HEADER_MAGIC) ? size : sizeof(HEADER_MAGIC);
	if (size == 0)
		return error_set(err, -EPROTO, "'%s' is no profile: it is empty", name);
	if (memcmp(bytes, HEADER_MAGIC, magic) != 0)
		return foreign(bytes, size, name, err);
	if (size < PROFILE_HEADER_BYTES)
		return error_set(
			err, -EBADMSG,
			"profile '%s' is truncated: it ends at byte %zu, inside its header", name,
			size);
	if (big_endian(bytes + HEADER_APPLICATION_ID, 4) != PROFILE_FORMAT_APPLICATION_ID)
		return error_set(err, -EPROTO,
				 "'%s' is no profile but an SQLite database of another program",
				 name);
	uint32_t version = big_endian(bytes + HEADER_USER_VERSION, 4);
	if (version > PROFILE_FORMAT_VERSION)
		return error_set(err, -EPROTONOSUPPORT,
				 "profile '%s' has format version %u, and this culprit reads up to "
				 "version %d; a newer culprit is needed",
				 name, version, PROFILE_FORMAT_VERSION);
	if (big_endian(bytes + HEADER_ENCODING, 4) != SQLITE_UTF8)
		return error_set(err, -EBADMSG,
				 "profile '%s' is damaged: its texts are not in UTF-8", name);
	if (version == 0)
		return error_set(err, -EBADMSG, "profile '%s' is damaged: it has no format version",
				 name);
	return 0;
}

uint64_t profile_header_file_bytes(const uint8_t *header)
{
	return (uint64_t)big_endian(header + HEADER_PAGE_SIZE, 2) *
	       big_endian(header + HEADER_PAGES, 4);
}

int profile_header_check_length(const uint8_t *header, uint64_t file_bytes, const char *name,
				struct error *err)
{
	uint64_t page = big_endian(header + HEADER_PAGE_SIZE, 2);
	uint64_t wanted = profile_header_file_bytes(header);
	if (page < 512 || (page & (page - 1)) != 0 || wanted == 0)
		return error_set(err, -EBADMSG,
				 "profile '%s' is damaged: its header makes no sense", name);
	if (file_bytes < wanted)
		return error_set(err, -EBADMSG,
				 "profile '%s' is truncated: %llu of its %llu bytes are there",
				 name, (unsigned long long)file_bytes, (unsigned long long)wanted);
	if (file_bytes > wanted)
		return error_set(err, -EBADMSG,
				 "profile '%s' is damaged: %llu bytes follow its end", name,
				 (unsigned long long)(file_bytes - wanted));
	return 0;
}

bool profile_header_has_log(const uint8_t *header)
{
	return header[HEADER_READ_VERSION] == HEADER_WAL;
}

void profile_header_expect_log(uint8_t *header)
{
	header[HEADER_READ_VERSION] = header[HEADER_WRITE_VERSION] = HEADER_WAL;
}

void profile_header_forget_log(uint8_t *header)
{
	if (profile_header_has_log(header))
		header[HEADER_READ_VERSION] = header[HEADER_WRITE_VERSION] = 1;
}
