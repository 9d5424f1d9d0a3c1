#include "cli/stat_output.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/message.h"
#include "cli/page.h"

/* What the file has already comes first in the one that replaces it. 0 or the exit status. */
static int copy_old(struct stat_output *output)
{
	char piece[65536];
	if (!output->file.replaces)
		return 0; /* a device or pipe has nothing to keep */
	CLEANUP(close_file) FILE *old = fopen(output->options->output, "re");
	if (!old && errno == ENOENT)
		return 0;
	if (!old) {
		message_error("cannot read '%s' to append to it: %s", output->options->output,
			      strerror(errno));
		return 1;
	}
	for (size_t size; (size = fread(piece, 1, sizeof(piece), old)) > 0;) {
		int ret = output_file_write(&output->file, piece, size);
		if (ret < 0)
			return output_file_failed(&output->file, ret);
	}
	if (!ferror(old))
		return 0;
	message_error("cannot read '%s' to append to it", output->options->output);
	return 1;
}

int stat_output_open(struct stat_output *output, const struct stat_options *options,
		     bool commands_own)
{
	bool named = options->output && strcmp(options->output, "-") != 0;
	*output = (struct stat_output){ .options = options,
					.beside = commands_own && !options->output };
	if (!named)
		return 0;
	int status = output_file_open(&output->file, options->output);
	if (status)
		return status;
	output->open = true;
	return options->append ? copy_old(output) : 0;
}

int stat_output_write(struct stat_output *output, const struct buffer *bytes)
{
	enum stat_format format = output->options->format;
	enum page_kind kind = format == STAT_JSON	 ? PAGE_JSON
			      : format == STAT_SEPARATED ? PAGE_FIELDS
							 : PAGE_TEXT;
	int status = 0;
	if (buffer_failed(bytes)) {
		message_error("out of memory for what is printed");
		return 1;
	}
	if (output->open) {
		int ret = output_file_write(&output->file, bytes->data, bytes->size);
		return ret < 0 ? output_file_failed(&output->file, ret) : 0;
	}
	status = output->beside ? page_write_beside(bytes, kind) : page_write(bytes, kind);
	if (!output->beside)
		fflush(stdout); /* intervals are read as they come */
	return status;
}

int stat_output_finish(struct stat_output *output)
{
	return output->open ? output_file_finish(&output->file) : 0;
}

void stat_output_release(struct stat_output *output)
{
	if (output->open)
		output_file_release(&output->file);
	output->open = false;
}
