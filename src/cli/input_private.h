/*
 * input_private - what input.c and input_runs.c share.
 */
#pragma once

#include <stddef.h>

struct database_selection;
struct error;
struct input_options;
struct profile;

/* One profile, database or file of another tool, its sums checked. Errors are negative errno values
 * with *err. */
int input_read_profile(const struct input_options *options, const char *path, struct profile **out,
		       struct error *err);
/* The epochs of a database that the options choose; borrows from the options. -EISDIR: `path` is no
 * database. */
int input_selection(const struct input_options *options, const char *path,
		    struct database_selection *selection, struct error *err);
/* "a.prof", "a.prof, b.prof", or "a.prof and 7 more"; NULL: out of memory. */
char *input_title(const char *const *paths, size_t count);
/* Refuses several profiles whose sums pass 64 bits: shares of such a sum would be wrong. */
int input_check_sums(const struct profile *profile, const char *title, struct error *err);
/* Says why nothing was read; the exit status. */
int input_failed(int ret, const struct error *err);
