/*
 * profile_header - what the first bytes of a file tell: whether it is a profile
 * (an SQLite database with our application_id), of a format version that is read
 * here, and how long it should be. The bytes are a stranger's.
 *
 * The functions with *err return 0 or a negative errno value (profile_file_read()
 * says which); `name` is for messages.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;

#define PROFILE_HEADER_BYTES 100 /* of an SQLite file */

/* Whether these are the first bytes of a profile: false below PROFILE_HEADER_BYTES. */
bool profile_header_is_ours(const void *bytes, size_t size);
/* Whether a file that begins with `bytes` is a profile that is read here. Other kinds of files are
 * named in *err, best from 512 bytes on. */
int profile_header_check(const uint8_t *bytes, size_t size, const char *name, struct error *err);

/* The others take a whole header, which profile_header_check() accepted. */

/* The bytes that its pages take: 0 or a number that makes no sense in a damaged one. */
uint64_t profile_header_file_bytes(const uint8_t *header);
/* Whether the file has the length that its header says. */
int profile_header_check_length(const uint8_t *header, uint64_t file_bytes, const char *name,
				struct error *err);
/* In WAL mode: what was written last may be in a log beside the file. */
bool profile_header_has_log(const uint8_t *header);
/* Turns WAL mode on in the bytes of a closed file. */
void profile_header_expect_log(uint8_t *header);
/* Turns WAL mode off in these bytes. SQLite opens no bytes in memory in that mode; when nothing of
 * the log is missing in them, they are the same without it. */
void profile_header_forget_log(uint8_t *header);
