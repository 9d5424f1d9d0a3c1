/*
 * stat_output - where `culprit stat` writes what was counted: the file of -o; else beside standard
 * output where that is the command's, as perf stat does, or to it.
 */
#pragma once

#include <stdbool.h>

#include "base/buffer.h"
#include "cli/output_file.h"
#include "cli/stat_options.h"

struct stat_output {
	const struct stat_options *options;
	bool beside; /* to standard error */
	bool open;   /* the file is */
	struct output_file file;
};

/* `commands_own`: standard output is a command's. 0, or the exit status after a message. */
int stat_output_open(struct stat_output *output, const struct stat_options *options,
		     bool commands_own);
/* Writes a piece, of a document or of lines, at once. 0, or the exit status after a message. */
int stat_output_write(struct stat_output *output, const struct buffer *bytes);
/* Puts a file into its place. 0, or the exit status after a message. */
int stat_output_finish(struct stat_output *output);
void stat_output_release(struct stat_output *output); /* without finish: an old file stays */
