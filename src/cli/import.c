#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/budget.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "cli/foreign.h"
#include "cli/limits.h"
#include "cli/message.h"
#include "cli/verbs.h"
#include "import/importer.h"
#include "profile/profile.h"
#include "store/file_source.h"
#include "store/profile_file.h"
#include "store/replace_file.h"

static const char *output, *limits;
static struct foreign_options given;

static const struct option *import_options(void)
{
	static const struct option options[] = {
		{ "output", 'o', OPTION_TEXT, "FILE", "write the profile there (culprit.prof)",
		  &output, NULL },
		{ "event", 'e', OPTION_TEXT, "NAME",
		  "what the counts count (samples); A,B of two counts a line", &given.event, NULL },
		{ "unit", 0, OPTION_TEXT, "UNIT", "the unit of a count: ns, cycles, ... (samples)",
		  &given.unit, NULL },
		{ "one-count", 0, OPTION_FLAG, NULL,
		  "a line's last number is its count, even when all lines end in two",
		  &given.one_count, NULL },
		{ "format", 'f', OPTION_TEXT, "FORMAT", "read it as that, whatever it looks like",
		  &given.format, NULL },
		{ "force", 0, OPTION_FLAG, NULL,
		  "of a damaged file, keep what comes before the damage", &given.force, NULL },
		{ "symfs", 0, OPTION_TEXT, "DIR", "look for binaries below this folder first",
		  &given.symfs, NULL },
		LIMITS_OPTION_ROW(limits),
		{ 0 },
	};
	return options;
}

static int open_input(const char *path, struct error *err)
{
	int fd = strcmp(path, "-") == 0 ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
					: open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return error_set(err, -errno, "cannot open '%s': %s", foreign_name(path),
				 strerror(errno));
	return fd;
}

static int import_file(const char *path, struct profile **profile, struct error *err)
{
	CLEANUP(buffer_release) struct buffer head = { 0 };
	CLEANUP(close_fd) int fd = open_input(path, err);
	if (fd < 0)
		return fd;
	int ret = foreign_read_head(fd, &head, IMPORT_HEAD_BYTES);
	if (ret < 0)
		return error_set(err, ret, "cannot read '%s': %s", foreign_name(path),
				 strerror(-ret));
	if (file_source_recognise(head.data, head.size))
		return error_set(
			err, -EPROTO,
			"'%s' is a profile of culprit already; give it to a report as it is",
			foreign_name(path));
	return foreign_read(fd, path, &head, &given, profile, err);
}

static int write_profile(const char *path, const struct profile *profile, struct error *err)
{
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	int ret = profile_file_encode(profile, &bytes, err);
	if (ret < 0)
		return ret;
	if (budget_refusal())
		return error_set(err, -EFBIG, "%s", budget_refusal());
	return replace_file(path, bytes.data, bytes.size, 0600, REPLACE_KEEP, err);
}

static int import_run(int argc, char **argv)
{
	int count;
	int status = options_parse(&verb_import, argc, argv, OPTIONS_ANYWHERE, &count);
	if (status)
		return status;
	if (count != 1)
		return options_misuse(
			&verb_import,
			count ? "name one file, not %d" : "name the file to import, or -", count);
	status = limits_open(limits);
	if (status)
		return status;
	const char *path = output ? output : "culprit.prof";
	struct error err = { 0 };
	CLEANUP(profile_freep) struct profile *profile = NULL;
	if (import_file(argv[1], &profile, &err) < 0)
		return message_failure(&err);
	if (write_profile(path, profile, &err) < 0)
		return message_failure(&err);
	size_t stacks = profile_table(profile, PROFILE_STACK)->count;
	size_t events = profile_table(profile, PROFILE_EVENT)->count;
	message_note("'%s' has %zu stack%s of %zu event%s; 'culprit report %s' shows them", path,
		     stacks, stacks == 1 ? "" : "s", events, events == 1 ? "" : "s", path);
	return 0;
}

const struct verb verb_import = {
	.name = "import",
	.run = import_run,
	.summary = "make a profile of another tool's recording",
	.usage = "[OPTIONS] FILE",
	.options = import_options,
};
