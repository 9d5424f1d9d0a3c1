/*
 * toolchain - tiny programs built while a test runs, so that parsers read what
 * compilers and linkers really write. A test without the tool is skipped.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct built_file {
	void *bytes; /* malloc'ed */
	size_t size_bytes;
};

/* Whether the command is there. If not, prints that, as the reason of a skip. */
bool toolchain_has(const char *command);
/* Writes `text` to FOLDER/NAME; ends the test when it cannot. */
void toolchain_write(const char *folder, const char *name, const char *text);
/* Runs a shell command in `folder`; ends the test with its output when it fails. */
__attribute__((format(printf, 2, 3))) void toolchain_run(const char *folder, const char *format,
							 ...);
/* The first number in hexadecimal that the command prints, as in nm's lines. */
__attribute__((format(printf, 2, 3))) uint64_t toolchain_address(const char *folder,
								 const char *format, ...);
struct built_file toolchain_read(const char *folder, const char *name);
void built_file_release(struct built_file *file); /* for CLEANUP() */
