#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "profile/profile.h"
#include "store/file_source.h"
#include "store/profile_file.h"
#include "store/profile_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void hear(void *context, const char *sentence)
{
	(void)context;
	assert(strlen(sentence) > 3 && !strchr(sentence, '\n'));
}

static char path[] = "/tmp/culprit-fuzz-XXXXXX";

static void remove_file(void)
{
	unlink(path);
}

/* Page by page, for its sources alone: what is a whole profile has the same ones. */
static void read_sources(const uint8_t *data, size_t size, const struct profile *whole)
{
	static int fd = -1;
	struct error err = { 0 };
	struct profile_file_info info;
	CLEANUP(profile_freep) struct profile *sources = NULL;
	if (fd < 0) {
		fd = mkstemp(path);
		atexit(remove_file);
	}
	if (fd < 0 || ftruncate(fd, 0) < 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
		return;
	int ret = profile_file_read_sources(path, &sources, &info, &err);
	assert(ret == 0 || err.text[0]);
	assert(!whole || (ret == 0 && profile_table(sources, PROFILE_SOURCE)->count ==
					      profile_table(whole, PROFILE_SOURCE)->count));
}

/* As a reader, as a reader that believes any seal, as one that leaves out code, and as `check`
 * does, which goes on after faults. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(profile_freep) struct profile *read = NULL;
	struct error err = { 0 };
	int ret = profile_file_decode(data, size, "f", &read, NULL, &err);
	assert(ret == 0 || (err.text[0] && !strchr(err.text, '\n')));
	read_sources(data, size, read);
	for (int way = 0; way < 3; way++) {
		CLEANUP(file_source_close) struct file_source source = { 0 };
		if (file_source_of_bytes(&source, data, size, "f", &err) < 0)
			return 0;
		CLEANUP(profile_freep) struct profile *deep = NULL;
		const struct profile_reader_options options = { .name = "f",
								.file_bytes = size,
								.fault = way == 1 ? hear : NULL,
								.without_code = way == 2,
								.ignore_seal = true };
		if (profile_reader_load(&source.guard, &options, &deep, NULL, &err) < 0)
			continue;
		if (profile_fault(deep))
			abort();
		/* What was accepted can be written, and is then sealed and canonical. */
		CLEANUP(buffer_release) struct buffer bytes = { 0 };
		CLEANUP(profile_freep) struct profile *again = NULL;
		if (profile_file_encode(deep, &bytes, &err) < 0)
			continue;
		if (profile_file_decode(bytes.data, bytes.size, "g", &again, NULL, &err) < 0)
			abort();
	}
	return 0;
}
