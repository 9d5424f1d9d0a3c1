#include "cli/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "cli/message.h"
#include "render/text_table.h"

static mode_t mode_for_new_files(void)
{
	mode_t mask = umask(0);
	umask(mask);
	return 0666 & ~mask;
}

int output_file_failed(const struct output_file *output, int code)
{
	if (output->standard) {
		errno = -code; /* main() looks at it, and knows readers that leave */
		return 0;
	}
	message_error("cannot write '%s': %s", output->path, strerror(-code));
	return 1;
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
	bool exists = stat(path, &found) == 0;
	if (exists && !S_ISREG(found.st_mode) && !S_ISDIR(found.st_mode)) {
		output->fd = open(path, O_WRONLY | O_CLOEXEC);
		return output->fd < 0 ? output_file_failed(output, -errno) : 0;
	}
	if (exists)
		output->target = realpath(path, NULL);
	mode_t mode = exists ? found.st_mode & 0777 : mode_for_new_files();
	output->replaces = true;
	if (replace_begin(output->target ? output->target : path, mode, &output->replacement,
			  &err) == 0)
		return 0;
	message_error("%s", err.text);
	return 1;
}

/* Names of files and processes are in it: none of them steers the terminal. */
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
	const char *at = bytes;
	if (output->replaces)
		return replace_write(&output->replacement, bytes, size);
	if (output->terminal)
		return write_to_terminal(bytes, size);
	if (output->standard)
		return fwrite(bytes, 1, size, stdout) == size ? 0 : -errno;
	while (size > 0) {
		ssize_t written = write(output->fd, at, size);
		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return -errno;
		at += written;
		size -= (size_t)written;
	}
	return 0;
}

int output_file_finish(struct output_file *output)
{
	struct error err = { 0 };
	if (!output->replaces || replace_commit(&output->replacement, REPLACE_DROP, &err) == 0)
		return 0;
	message_error("%s", err.text);
	return 1;
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
