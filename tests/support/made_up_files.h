/*
 * made_up_files - files of /proc and /sys whose text the test chooses. In a test program that has
 * `made_up_files` among its dependencies, open() and small_file_read() of the paths that are listed
 * here find these texts (ld --wrap); all other files are the real ones.
 */
#pragma once

struct made_up_file {
	const char *path;
	const char *text; /* NULL: -EACCES */
};

/* Ends with a path that is NULL. NULL: none is made up. */
extern const struct made_up_file *made_up_files;
