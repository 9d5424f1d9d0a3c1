#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "cli/message.h"
#include "cli/verbs.h"
#include "import/folded.h"
#include "profile/profile.h"
#include "store/profile_file.h"
#include "store/replace_file.h"

#define PIECE_BYTES (1u << 20)

static const char *output;
static struct folded_options folded;

static const struct option *import_options(void)
{
	static const struct option options[] = {
		{ "output", 'o', OPTION_TEXT, "FILE", "write the profile there (culprit.prof)",
		  &output, NULL },
		{ "event", 'e', OPTION_TEXT, "NAME", "what the counts count (samples)",
		  &folded.event, NULL },
		{ "unit", 0, OPTION_TEXT, "UNIT", "the unit of a count: ns, cycles, ... (samples)",
		  &folded.unit, NULL },
		{ "one-count", 0, OPTION_FLAG, NULL,
		  "a line's last number is its count, even when all lines end in two",
		  &folded.one_count, NULL },
		{ 0 },
	};
	return options;
}

/* Nothing of ours, but known: worth a better sentence than "not folded text". */
static int refuse_known(const void *bytes, size_t size, struct error *err)
{
	if (profile_file_recognise(bytes, size))
		return error_set(err, -EPROTO,
				 "this is a profile of culprit already; give it to a report as it "
				 "is");
	if (size >= 8 && (memcmp(bytes, "PERFILE2", 8) == 0 || memcmp(bytes, "2ELIFREP", 8) == 0))
		return error_set(err, -EPROTO,
				 "this is a perf.data file; folded text of it is made by 'perf "
				 "script' and stackcollapse-perf.pl");
	return 0;
}

static int read_all(int fd, struct folded_reader *reader, struct error *err)
{
	CLEANUP(free_pointer) char *piece = malloc(PIECE_BYTES);
	if (!piece)
		return error_set(err, -ENOMEM, "out of memory for %u bytes of input", PIECE_BYTES);
	for (bool first = true;; first = false) {
		ssize_t size = read(fd, piece, PIECE_BYTES);
		if (size < 0 && errno == EINTR)
			continue;
		if (size < 0)
			return error_set(err, -errno, "cannot read: %s", strerror(errno));
		if (size == 0)
			return 0;
		int ret = first ? refuse_known(piece, (size_t)size, err) : 0;
		if (ret == 0)
			ret = folded_reader_feed(reader, piece, (size_t)size, err);
		if (ret == 0 && first && memchr(piece, 0, (size_t)size))
			ret = error_set(err, -EPROTO, "this is no text: it has zero bytes");
		if (ret < 0)
			return ret;
	}
}

static int open_input(const char *path, struct error *err)
{
	int fd = strcmp(path, "-") == 0 ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
					: open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return error_set(err, -errno, "cannot open: %s", strerror(errno));
	return fd;
}

static int import_file(const char *path, struct profile **profile, struct folded_counts *counts,
		       struct error *err)
{
	CLEANUP(folded_reader_freep) struct folded_reader *reader = NULL;
	CLEANUP(close_fd) int fd = open_input(path, err);
	if (fd < 0)
		return fd;
	if (folded_reader_new(&folded, &reader) < 0)
		return error_set(err, -ENOMEM, "out of memory");
	int ret = read_all(fd, reader, err);
	if (ret < 0)
		return ret;
	return folded_reader_finish(reader, profile, counts, err);
}

static void say_counts(const char *name, const struct folded_counts *counts)
{
	if (counts->bad) {
		char lines[FOLDED_SHOWN_LINES * 24] = "";
		size_t at = 0;
		for (size_t i = 0; i < FOLDED_SHOWN_LINES && i < counts->bad; i++)
			at += (size_t)snprintf(lines + at, sizeof(lines) - at, "%s%llu",
					       i ? ", " : "",
					       (unsigned long long)counts->bad_lines[i]);
		message_warning(
			"'%s': %llu of %llu lines have no count and are left out (line %s%s)", name,
			(unsigned long long)counts->bad, (unsigned long long)counts->lines, lines,
			counts->bad > FOLDED_SHOWN_LINES ? ", ..." : "");
	}
	if (counts->rounded)
		message_note("'%s': %llu counts had more than %d decimals and were rounded", name,
			     (unsigned long long)counts->rounded, FOLDED_MAX_DECIMALS);
}

static int write_profile(const char *path, const struct profile *profile, struct error *err)
{
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	int ret = profile_file_encode(profile, &bytes, err);
	if (ret < 0)
		return ret;
	return replace_file(path, bytes.data, bytes.size, 0600, REPLACE_KEEP, err);
}

static int import_run(int argc, char **argv)
{
	int count;
	int status = options_parse(&verb_import, argc, argv, OPTIONS_ANYWHERE, &count);
	if (status >= 0)
		return status;
	if (count != 1)
		return options_misuse(
			&verb_import,
			count ? "name one file, not %d" : "name the file to import, or -", count);
	const char *name = strcmp(argv[1], "-") == 0 ? "stdin" : argv[1];
	const char *path = output ? output : "culprit.prof";
	struct error err = { 0 };
	struct folded_counts counts;
	CLEANUP(profile_freep) struct profile *profile = NULL;
	if (import_file(argv[1], &profile, &counts, &err) < 0) {
		message_error("cannot import '%s': %s%s", name, err.text,
			      err.code == -ENOTSUP
				      ? "; --one-count takes the last number as the count"
				      : "");
		return 1;
	}
	say_counts(name, &counts);
	if (write_profile(path, profile, &err) < 0) {
		message_error("%s", err.text);
		return 1;
	}
	message_note("%zu stacks of %llu lines are in '%s'; 'culprit report %s' shows them",
		     profile_table(profile, PROFILE_STACK)->count, (unsigned long long)counts.taken,
		     path, path);
	return 0;
}

const struct verb verb_import = {
	.name = "import",
	.run = import_run,
	.summary = "make a profile of another tool's folded stacks",
	.usage = "[OPTIONS] FILE",
	.options = import_options,
};
