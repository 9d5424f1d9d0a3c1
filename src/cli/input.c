#include "cli/input.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "analyze/names/resolve.h"
#include "base/budget.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/number.h"
#include "cli/foreign.h"
#include "cli/input_private.h"
#include "cli/message.h"
#include "cli/time_text.h"
#include "import/reading/import.h"
#include "import/importer.h"
#include "profile/bill.h"
#include "profile/profile.h"
#include "profile/size_check.h"
#include "profile/sum_check.h"
#include "store/database.h"
#include "store/file_source.h"
#include "store/profile_file.h"

#define STREAM_LIMIT                                                                               \
	(4ull << 30) /* of a profile that comes through a pipe; it has to fit in memory */
#define PIECE_BYTES (8u << 20)

static void note_state(const char *name, const struct profile_file_info *info)
{
	if (info->being_written)
		message_note("'%s' is still being recorded; this is what was merged so far", name);
	else if (info->cut_off)
		message_warning("the recording of '%s' was cut off; this is what was merged before",
				name);
	if (info->unknown_tables)
		message_note("'%s' has %u tables of a newer version, which this one leaves out of "
			     "reports",
			     name, info->unknown_tables);
}

static enum profile_file_part part_of(const struct input_options *options)
{
	return options->without_code ? PROFILE_FILE_WITHOUT_CODE : PROFILE_FILE_WHOLE;
}

static int read_profile_file(const struct input_options *options, const char *path,
			     struct profile **out, struct error *err)
{
	struct profile_file_info info = { 0 };
	CLEANUP(profile_freep) struct profile *profile = NULL;
	int ret = profile_file_read_part(path, part_of(options), &profile, &info, err);
	if (ret < 0)
		return ret;
	ret = profile_check_budget(profile, err);
	if (ret < 0)
		return ret;
	note_state(path, &info);
	/* also into the bill, where the file will have it once it is closed */
	if (info.cut_off && !info.being_written &&
	    profile_add_bill(profile, 0, OPTIONAL_ABSENT, BILL_CUT_OFF, 1) < 0)
		return error_set(err, -ENOMEM, "out of memory reading '%s'", path);
	*out = profile;
	profile = NULL; /* the caller's from here on */
	return 0;
}

/* A file of another tool, whose beginning is in `head`; the rest comes from `fd`. */
static int read_foreign(const struct input_options *options, int fd, const char *path,
			struct buffer *head, struct profile **out, struct error *err)
{
	const struct foreign_options how = { .force = options->force, .symfs = options->symfs };
	int ret = foreign_read(fd, path, head, &how, out, err);
	if (ret != -EBADMSG)
		return ret;
	err->code = -EINVAL; /* not to suggest 'culprit check', which knows our own files only */
	return err->code;
}

/* All of a profile whose beginning is in `bytes`. 0 or a negative errno. */
static int read_profile_stream(int fd, struct buffer *bytes, const char *name)
{
	size_t before = 0;
	int ret = 0;
	budget_input(name);
	while (ret == 0 && bytes->size > before) {
		budget_read_profile(bytes->size - before);
		before = bytes->size;
		size_t room = STREAM_LIMIT - before;
		ret = foreign_read_head(fd, bytes,
					before + (room < PIECE_BYTES ? room : PIECE_BYTES));
	}
	return ret;
}

/* From a pipe or standard input: the bytes come once. */
static int read_stream(const struct input_options *options, int fd, const char *path,
		       struct profile **out, struct error *err)
{
	const char *name = foreign_name(path);
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	int ret = foreign_read_head(fd, &bytes, IMPORT_HEAD_BYTES);
	if (ret < 0)
		return error_set(err, ret, "cannot read '%s': %s", name, strerror(-ret));
	if (!file_source_recognise(bytes.data, bytes.size))
		return read_foreign(options, fd, path, &bytes, out, err);
	ret = read_profile_stream(fd, &bytes, name);
	if (ret < 0)
		return error_set(err, ret, "cannot read '%s': %s", name, strerror(-ret));
	if (bytes.size == STREAM_LIMIT)
		return error_set(err, -EFBIG, "'%s' is larger than %llu GiB; save it as a file",
				 name, STREAM_LIMIT >> 30);
	struct profile_file_info info = { 0 };
	CLEANUP(profile_freep) struct profile *profile = NULL;
	ret = profile_file_decode_part(bytes.data, bytes.size, name, part_of(options), &profile,
				       &info, err);
	if (ret == 0)
		ret = profile_check_budget(profile, err);
	if (ret < 0)
		return ret;
	note_state(name, &info);
	*out = profile;
	profile = NULL; /* the caller's from here on */
	return 0;
}

static int read_file(const struct input_options *options, int fd, const char *path,
		     struct profile **out, struct error *err)
{
	CLEANUP(buffer_release) struct buffer head = { 0 };
	int ret = foreign_read_head(fd, &head, IMPORT_HEAD_BYTES);
	if (ret < 0)
		return error_set(err, ret, "cannot read '%s': %s", path, strerror(-ret));
	if (file_source_recognise(head.data, head.size))
		return read_profile_file(options, path, out, err);
	return read_foreign(options, fd, path, &head, out, err);
}

/* ---- databases */

static void note_left_out(void *context, const char *sentence)
{
	(void)context;
	message_warning("left out: %s; 'culprit check' says more", sentence);
}

int input_selection(const struct input_options *options, const char *path,
		    struct database_selection *selection, struct error *err)
{
	if (!database_recognise(path))
		return error_set(err, -EISDIR, "folder '%s' is no database of profiles", path);
	*selection = (struct database_selection){ .hosts = options->hosts.items,
						  .host_count = options->hosts.count,
						  .epochs = options->epochs.items,
						  .epoch_count = options->epochs.count,
						  .labels = options->labels.items,
						  .label_count = options->labels.count,
						  .note = note_left_out };
	selection->apart_ns = options->apart_ns;
	if (options->apart_ns && options->base)
		selection->until_ns = options->apart_ns;
	else if (options->apart_ns)
		selection->since_ns = options->apart_ns;
	int ret = selection->since_ns ? 0
				      : time_text_read(options->base ? "--base-since" : "--since",
						       options->since, &selection->since_ns, err);
	if (ret < 0 || selection->until_ns)
		return ret;
	return time_text_read(options->base ? "--base-until" : "--until", options->until,
			      &selection->until_ns, err);
}

static int read_database(const struct input_options *options, const char *path,
			 struct profile **out, struct error *err)
{
	struct database_selection selection;
	int ret = input_selection(options, path, &selection, err);
	if (ret == 0)
		ret = database_read(path, &selection, out, err);
	if (ret == -ENOENT && options->apart_ns)
		error_set(err, ret, "database '%s' has no such epoch that %s '%s'", path,
			  options->base ? "ended before" : "began since", options->apart_text);
	return ret;
}

const char *input_chosen(const struct input_options *options)
{
	bool base = options->base;
	return options->hosts.count    ? base ? "--base-host" : "--host"
	       : options->epochs.count ? base ? "--base-epoch" : "--epoch"
	       : options->labels.count ? base ? "--base-label" : "--label"
	       : options->since	       ? base ? "--base-since" : "--since"
	       : options->until	       ? base ? "--base-until" : "--until"
				       : NULL;
}

void input_share(struct input_options *base, const struct input_options *other)
{
	base->symfs = other->symfs;
	base->stash_only = other->stash_only;
	base->debuginfod = other->debuginfod;
	base->force = other->force;
	base->limits = other->limits;
	base->without_code = other->without_code;
}

static int read_one(const struct input_options *options, const char *path, struct profile **out,
		    struct error *err)
{
	struct stat status;
	if (strcmp(path, "-") != 0 && stat(path, &status) == 0 && S_ISDIR(status.st_mode) &&
	    !file_source_is_open_folder(path))
		return read_database(options, path, out, err);
	if (input_chosen(options))
		return error_set(err, -EINVAL, "%s chooses from a database, and '%s' is none",
				 input_chosen(options), foreign_name(path));
	if (strcmp(path, "-") == 0)
		return read_stream(options, STDIN_FILENO, path, out, err);
	if (file_source_is_open_folder(path))
		return read_profile_file(options, path, out, err);
	CLEANUP(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return read_profile_file(options, path, out, err); /* PATH.open may be there */
	if (fd < 0 || fstat(fd, &status) < 0)
		return error_set(err, -errno, "cannot open '%s': %s", path, strerror(errno));
	return S_ISREG(status.st_mode) ? read_file(options, fd, path, out, err)
				       : read_stream(options, fd, path, out, err);
}

/* Refuses a profile whose sums pass 64 bits: shares of such a sum would be wrong. `path` is NULL
 * for several files. */
static int check_sums(const struct profile *profile, const char *name, const char *path,
		      struct error *err)
{
	struct error cause;
	int ret = profile_check_sums(profile, &cause);
	if (ret == 0)
		return 0;
	const char *cure = ret != -EOVERFLOW	      ? ""
			   : !path		      ? "; name fewer of them"
			   : database_recognise(path) ? "; choose fewer of its epochs"
						      : "";
	return error_set(err, ret, "cannot add up '%s': %s%s", name, cause.text, cure);
}

int input_read_profile(const struct input_options *options, const char *path, struct profile **out,
		       struct error *err)
{
	CLEANUP(profile_freep) struct profile *one = NULL;
	int ret = read_one(options, path, &one, err);
	if (ret == 0)
		ret = check_sums(one, foreign_name(path), path, err);
	if (ret < 0)
		return ret;
	*out = one;
	one = NULL; /* the caller's from here on */
	return 0;
}

static int merge_one(const struct input_options *options, struct profile **into, const char *path,
		     struct error *err)
{
	CLEANUP(profile_freep) struct profile *one = NULL;
	int ret = input_read_profile(options, path, &one, err);
	if (ret < 0)
		return ret;
	if (!*into) {
		*into = one;
		one = NULL;
		return 0;
	}
	ret = profile_merge(*into, one, err);
	if (ret == -ENOMEM)
		return error_set(err, ret, "out of memory merging '%s'", path);
	return ret < 0 ? error_prefix(err, "'%s' does not go with the others", path) : 0;
}

int input_check_sums(const struct profile *profile, const char *title, struct error *err)
{
	return check_sums(profile, title, NULL, err);
}

char *input_title(const char *const *paths, size_t count)
{
	char *title = NULL;
	int size =
		count == 1 ? asprintf(&title, "%s", foreign_name(paths[0]))
		: count == 2
			? asprintf(&title, "%s, %s", foreign_name(paths[0]), foreign_name(paths[1]))
			: asprintf(&title, "%s and %zu more", foreign_name(paths[0]), count - 1);
	return size < 0 ? NULL : title;
}

static int read_all(const struct input_options *options, const char *const *paths, size_t count,
		    struct input *input, struct error *err)
{
	CLEANUP(profile_freep) struct profile *whole = NULL;
	for (size_t i = 0; i < count; i++) {
		int ret = merge_one(options, &whole, paths[i], err);
		if (ret < 0)
			return ret;
	}
	if (count > 1) { /* the same output whatever the order of the arguments */
		struct profile *canonical;
		int ret = profile_canonical(whole, &canonical);
		if (ret < 0)
			return error_set(err, ret, "out of memory merging profiles");
		profile_free(whole);
		whole = canonical;
	}
	CLEANUP(free_pointer) char *title = input_title(paths, count);
	if (!title)
		return error_set(err, -ENOMEM, "out of memory reading profiles");
	if (count > 1) {
		int ret = check_sums(whole, title, NULL, err);
		if (ret < 0)
			return ret;
	}
	input->title = title;
	title = NULL; /* the caller's from here on */
	input->profile = whole;
	whole = NULL;
	return 0;
}

int input_failed(int ret, const struct error *err)
{
	if (ret == -EBADMSG)
		message_error("%s; 'culprit check' says more", err->text);
	else
		message_error("%s", err->text);
	return 1;
}

int input_read(const struct input_options *options, char *const *arguments, size_t count,
	       struct input *input)
{
	*input = (struct input){ 0 };
	struct error err = { 0 };
	int status = limits_open(options->limits);
	if (status)
		return status;
	size_t all = options->files.count + count;
	CLEANUP(free_pointer) const char **paths = calloc(all + 1, sizeof(*paths));
	if (!paths) {
		message_error("out of memory reading profiles");
		return 1;
	}
	for (size_t i = 0; i < options->files.count; i++)
		paths[i] = options->files.items[i];
	for (size_t i = 0; i < count; i++)
		paths[options->files.count + i] = arguments[i];
	bool chosen = all == 0;
	if (chosen)
		paths[all++] = INPUT_DEFAULT;
	int ret = read_all(options, paths, all, input, &err);
	if (ret == 0)
		return 0;
	if (ret == -ENOENT && chosen)
		message_error("no '%s' in this folder; 'culprit record -- COMMAND' makes one, or "
			      "name a profile",
			      INPUT_DEFAULT);
	else
		return input_failed(ret, &err);
	return 1;
}

/* Opens only regular files: the bytes of a pipe can be read but once, and no procedure is a pipe.
 */
static bool is_profile(const char *path)
{
	struct stat file;
	CLEANUP(buffer_release) struct buffer head = { 0 };
	if (strcmp(path, "-") == 0)
		return true;
	if (stat(path, &file) < 0)
		return false;
	if (S_ISFIFO(file.st_mode))
		return true;
	if (S_ISDIR(file.st_mode))
		return file_source_is_open_folder(path) || database_recognise(path);
	CLEANUP(close_fd)
	int fd = S_ISREG(file.st_mode) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	return fd >= 0 && foreign_read_head(fd, &head, IMPORT_HEAD_BYTES) == 0 &&
	       (file_source_recognise(head.data, head.size) ||
		import_recognise(head.data, head.size));
}

const char *input_take_procedure(char **arguments, size_t *count)
{
	if (!*count)
		return NULL;
	char *procedure = arguments[0];
	if (!is_profile(procedure)) {
		memmove(arguments, arguments + 1, --*count * sizeof(*arguments));
		return procedure;
	}
	procedure = arguments[*count - 1];
	if (*count == 1 || strcmp(procedure, "-") == 0 || access(procedure, F_OK) == 0)
		return NULL;
	--*count;
	return procedure;
}

int input_check_name(const struct input_options *options, const char *name, size_t profiles)
{
	if (!name || profiles || options->files.count || access(INPUT_DEFAULT, F_OK) == 0)
		return 0;
	message_error("'%s' is no profile here, and there is no '%s' in this folder whose "
		      "procedure or image it could be",
		      name, INPUT_DEFAULT);
	return 1;
}

void input_release(struct input *input)
{
	profile_free(input->profile);
	free(input->title);
	*input = (struct input){ 0 };
}

int input_resolver(const struct input_options *options, const struct input *input,
		   enum input_naming what, struct resolver **resolver)
{
	CLEANUP(free_pointer) char *perf_cache = foreign_perf_cache();
	const struct resolver_options naming = { .symfs = options->symfs,
						 .perf_cache = perf_cache,
						 .stash_only = options->stash_only,
						 .without_code = what == INPUT_NAMES,
						 .debuginfod = options->debuginfod };
	struct error err = { 0 };
	if (resolver_new(input->profile, &naming, resolver, &err) == 0)
		return 0;
	return message_failure(&err);
}
