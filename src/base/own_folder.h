/*
 * own_folder - a folder of the user's own in which one run keeps something for the next: what
 * somebody else can write there is not believed. Files are small, and replaced as a whole.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/span.h"

struct buffer;

/* A descriptor of the folder, which the caller closes. `make`: with what is missing of the way to
 * it. -EPERM where others can write it, or another negative errno. */
int own_folder_open(const char *path, bool make);
/* Appends a file of the folder. 0; -EPERM where others can write it; -EFBIG when it has more than
 * `limit_bytes`; or another negative errno, and *out may have a part of it. */
int own_folder_read(int folder, const char *name, size_t limit_bytes, struct buffer *out);
/* Makes or replaces a file of the folder, which has one content or the other whatever happens. 0 or
 * a negative errno. */
int own_folder_write(int folder, const char *name, struct span bytes);
