#include "support/toolchain.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/small_file.h"

#define BUILT_MAX_BYTES (64u << 20)

bool toolchain_has(const char *command)
{
	char line[256];
	snprintf(line, sizeof(line), "command -v %s >/dev/null 2>&1", command);
	bool there = system(line) == 0;
	if (!there)
		print_message("no %s here\n", command);
	return there;
}

void toolchain_write(const char *folder, const char *name, const char *text)
{
	char path[512];
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	CLEANUP(close_file) FILE *file = fopen(path, "we");
	if (!file || fputs(text, file) < 0)
		fail_msg("cannot write '%s'", path);
}

/* Runs the command; what it prints goes to `said`. Returns its status. */
static int run_in(const char *folder, const char *format, va_list args, char *said, size_t size)
{
	char command[2048];
	int used = snprintf(command, sizeof(command), "cd '%s' && { ", folder);
	used += vsnprintf(command + used, sizeof(command) - (size_t)used, format, args);
	snprintf(command + used, sizeof(command) - (size_t)used, "\n} 2>&1");
	FILE *pipe = popen(command, "re");
	if (!pipe)
		return -1;
	size_t got = fread(said, 1, size - 1, pipe);
	said[got] = 0;
	while (fgetc(pipe) != EOF)
		;
	return pclose(pipe);
}

void toolchain_run(const char *folder, const char *format, ...)
{
	if (system("command -v cc >/dev/null && command -v objcopy >/dev/null") != 0) {
		print_message("no compiler and binutils here\n");
		skip();
	}
	char said[4096];
	va_list args;
	va_start(args, format);
	int status = run_in(folder, format, args, said, sizeof(said));
	va_end(args);
	if (status != 0)
		fail_msg("'%s' ended with status %d: %s", format, status, said);
}

uint64_t toolchain_address(const char *folder, const char *format, ...)
{
	char said[65536];
	va_list args;
	va_start(args, format);
	int status = run_in(folder, format, args, said, sizeof(said));
	va_end(args);
	char *end;
	uint64_t value = strtoull(said, &end, 16);
	if (status != 0 || end == said)
		fail_msg("'%s' ended with status %d: %s", format, status, said);
	return value;
}

struct built_file toolchain_read(const char *folder, const char *name)
{
	char path[512];
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	struct buffer bytes = { 0 };
	int ret = small_file_read(path, BUILT_MAX_BYTES, &bytes);
	if (ret < 0)
		fail_msg("cannot read '%s': %d", path, ret);
	/* Just as large as the file, so that a sanitizer sees a read past its end. */
	struct built_file file = { malloc(bytes.size ? bytes.size : 1), bytes.size };
	assert_non_null(file.bytes);
	memcpy(file.bytes, bytes.data, bytes.size);
	buffer_release(&bytes);
	return file;
}

void built_file_release(struct built_file *file)
{
	free(file->bytes);
	*file = (struct built_file){ 0 };
}
