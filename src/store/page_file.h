/*
 * page_file - a file that SQLite reads page by page through a descriptor of ours:
 * nothing is opened by a name, locked, mapped or written, and no log or journal
 * beside it is looked for. Of a closed profile it reads what a question needs
 * instead of the whole.
 *
 * Another may change the file meanwhile: then pages do not fit each other, which
 * SQLite and our checks find, or say what he wrote.
 */
#pragma once

#include <stdint.h>

#include "store/sqlite_guard.h"

/* Opens `guard` over the file behind `fd`, which stays the caller's and may be closed at once. The
 * budget of operations grows with `file_bytes`. Returns an SQLite result code. */
int page_file_open(struct guard *guard, int fd, uint64_t file_bytes);
