#include "cli/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/budget.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/write_all.h"
#include "cli/message.h"
#include "render/text_table.h"
#include "store/output_folder.h"

static mode_t mode_for_new_files(void)
{
	mode_t mask = umask(0);
	umask(mask);
	return 0666 & ~mask;
}

int output_file_failed(const struct output_file *output, int code)
{
	if (message_refused())
		return 1;
	if (output->standard) {
		errno = -code; /* main() reports it, unless a reader has left */
		return 0;
	}
	message_error("cannot write '%s': %s", output->path, strerror(-code));
	return 1;
}

/*
 * Opens a device or pipe; but not a pipe of another user in a folder where everybody may make one:
 * that user would read what is written.
 */
static int open_straight(struct output_file *output, struct error *err)
{
	struct stat folder_status, found;
	CLEANUP(close_fd) int folder = output_folder_open(output->target, err);
	if (folder < 0)
		return folder;
	const char *name = output_base_name(output->target);
	if (fstat(folder, &folder_status) < 0 || fstatat(folder, name, &found, 0) < 0)
		return error_set(err, -errno, "cannot write '%s': %s", output->path,
				 strerror(errno));
	if (output_is_public(&folder_status) && found.st_uid != geteuid() && found.st_uid != 0)
		return error_set(err, -EPERM,
				 "cannot write '%s': it is a pipe or device of another user (uid "
				 "%u), in a folder where everybody may make one",
				 output->path, (unsigned)found.st_uid);
	output->fd = openat(folder, name, O_WRONLY | O_TRUNC | O_CLOEXEC);
	return output->fd < 0 ? output_file_failed(output, -errno) : 0;
}

int output_file_open(struct output_file *output, const char *path)
{
	struct stat found;
	struct error err = { 0 };
	*output = (struct output_file){
		.path = path,
		.fd = -1,
		.standard = !path || strcmp(path, "-") == 0,
		.replacement = { .folder = -1, .fd = -1 },
	};
	output->terminal = output->standard && isatty(STDOUT_FILENO);
	if (output->standard)
		return 0;
	if (output_path_resolve(path, &output->target, &err) < 0)
		return message_failure(&err);
	/* a link that is still there is one of /proc, to what is open already */
	bool link = lstat(output->target, &found) == 0 && S_ISLNK(found.st_mode);
	bool exists = stat(output->target, &found) == 0;
	if (exists && !S_ISDIR(found.st_mode) && (link || !S_ISREG(found.st_mode))) {
		int ret = open_straight(output, &err);
		return ret < 0 ? message_failure(&err) : ret;
	}
	mode_t mode = exists ? found.st_mode & 0777 : mode_for_new_files();
	output->replaces = true;
	return replace_begin(output->target, mode, &output->replacement, &err) < 0
		       ? message_failure(&err)
		       : 0;
}

/* Makes the text safe: it has names of files and processes in it. */
static int write_to_terminal(const char *bytes, size_t size)
{
	CLEANUP(buffer_release) struct buffer safe = { 0 };
	for (size_t i = 0; i < size; i++) {
		size_t from = i;
		while (i < size && bytes[i] != '\n' && bytes[i] != '\t')
			i++;
		text_append_safe(&safe, bytes + from, i - from);
		if (i < size)
			buffer_append_u8(&safe, (uint8_t)bytes[i]);
	}
	if (buffer_failed(&safe))
		return -ENOMEM;
	return fwrite(safe.data, 1, safe.size, stdout) == safe.size ? 0 : -errno;
}

int output_file_write(void *context, const void *bytes, size_t size)
{
	struct output_file *output = context;
	int ret = budget_take_output(size, NULL);
	if (ret < 0)
		return ret;
	if (output->replaces)
		return replace_write(&output->replacement, bytes, size);
	if (output->terminal)
		return write_to_terminal(bytes, size);
	if (output->standard)
		return fwrite(bytes, 1, size, stdout) == size ? 0 : -errno;
	return write_all(output->fd, bytes, size);
}

int output_file_finish(struct output_file *output)
{
	struct error err = { 0 };
	if (message_refused())
		return 1;
	if (!output->replaces || replace_commit(&output->replacement, REPLACE_DROP, &err) == 0)
		return 0;
	return message_failure(&err);
}

int output_file_write_page(const char *chosen, const char *otherwise, const struct buffer *page)
{
	CLEANUP(output_file_release) struct output_file output;
	int status = output_file_open(&output, chosen ? chosen : otherwise);
	if (status)
		return status;
	int ret = output_file_write(&output, page->data, page->size);
	if (ret < 0)
		return output_file_failed(&output, ret);
	status = output_file_finish(&output);
	if (status == 0 && !chosen && !output.standard)
		message_note("wrote '%s'; open it in a browser", otherwise);
	return status;
}

void output_file_release(struct output_file *output)
{
	replace_release(&output->replacement);
	if (output->fd >= 0)
		close(output->fd);
	free(output->target);
}
