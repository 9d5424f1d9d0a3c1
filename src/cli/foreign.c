#include "cli/foreign.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/budget.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "cli/message.h"
#include "import/reading/import.h"
#include "profile/profile.h"
#include "profile/size_check.h"

#define PIECE_BYTES 65536u

const char *foreign_name(const char *path)
{
	return strcmp(path, "-") == 0 ? "standard input" : path;
}

int foreign_read_head(int fd, struct buffer *head, size_t limit)
{
	while (head->size < limit) {
		size_t want = limit - head->size < PIECE_BYTES ? limit - head->size : PIECE_BYTES;
		void *room = buffer_extend(head, want);
		if (!room)
			return -ENOMEM;
		ssize_t got = read(fd, room, want);
		head->size -= want - (got > 0 ? (size_t)got : 0);
		if (got == 0)
			return 0;
		if (got < 0 && errno != EINTR)
			return -errno;
	}
	return 0;
}

static void say(void *context, enum import_remark kind, const char *sentence)
{
	const char *path = context;
	if (kind == IMPORT_WARNING)
		message_warning("'%s': %s", foreign_name(path), sentence);
	else
		message_note("'%s': %s", foreign_name(path), sentence);
}

/* The folder that a path lies in, or NULL when out of memory or for standard input. */
static char *folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	if (strcmp(path, "-") == 0)
		return NULL;
	if (!slash)
		return strdup(".");
	return slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
}

/* When a regular file was written, since 1970; 0: a pipe, which is written as it is read. */
static uint64_t written_ns(int fd)
{
	struct stat info;
	if (fstat(fd, &info) < 0 || !S_ISREG(info.st_mode))
		return 0;
	return (uint64_t)info.st_mtim.tv_sec * 1000000000 + (uint64_t)info.st_mtim.tv_nsec;
}

char *foreign_perf_cache(void)
{
	CLEANUP(buffer_release) struct buffer path = { 0 };
	const char *home = getenv("HOME");
	if (!home || *home != '/')
		return NULL;
	buffer_printf(&path, "%s/.debug", home);
	return strdup(buffer_text(&path));
}

/* Whether --force would give a profile: reads the file again, so false for a pipe. */
static bool force_helps(int fd, const struct importer *format, const struct import_options *options)
{
	struct import_options how = *options;
	CLEANUP(buffer_release) struct buffer head = { 0 };
	CLEANUP(profile_freep) struct profile *profile = NULL;
	how.force = true;
	how.say = NULL;
	return lseek(fd, 0, SEEK_SET) == 0 &&
	       foreign_read_head(fd, &head, IMPORT_HEAD_BYTES) == 0 &&
	       import_read(fd, &head, format, &how, &profile, NULL) == 0;
}

int foreign_read(int fd, const char *path, struct buffer *head,
		 const struct foreign_options *options, struct profile **out, struct error *err)
{
	const struct importer *format = options->format ? importer_named(options->format) : NULL;
	if (options->format && !format)
		return error_set(err, -EINVAL, "unknown format '%s'", options->format);
	CLEANUP(free_pointer) char *folder = folder_of(path);
	CLEANUP(free_pointer) char *perf_cache = foreign_perf_cache();
	const struct import_options how = { .event = options->event,
					    .unit = options->unit,
					    .one_count = options->one_count,
					    .force = options->force,
					    .folder = folder,
					    .symfs = options->symfs,
					    .perf_cache = perf_cache,
					    .written_ns = written_ns(fd),
					    .say = say,
					    .say_context = (void *)path };
	struct error fault = { 0 };
	budget_input(foreign_name(path));
	CLEANUP(profile_freep) struct profile *profile = NULL;
	int ret = import_read(fd, head, format, &how, &profile, &fault);
	if (ret == 0)
		ret = profile_check_budget(profile, &fault);
	if (ret == 0) {
		*out = profile;
		profile = NULL; /* the caller's from here on */
		return 0;
	}
	bool helps = ret == -EBADMSG && force_helps(fd, format, &how);
	return error_set(err, ret, "'%s': %s%s", foreign_name(path), fault.text,
			 helps ? "; --force keeps what comes before" : "");
}
