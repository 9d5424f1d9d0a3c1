/*
 * page_file - a file that SQLite reads page by page through a descriptor of ours: nothing
 * is opened by name, locked, mapped or written, and no log or journal beside it is looked
 * for. So a query of a closed profile reads the pages that it needs instead of the whole.
 *
 * Another process may change the file meanwhile. Then pages do not fit each other, which
 * SQLite and our checks find; or they hold what that process wrote.
 */
#pragma once

#include <stdint.h>

#include "store/sqlite_guard.h"

/* Opens `guard` over the file behind `fd`, which stays the caller's and may be closed at once. The
 * budget of operations grows with `file_bytes`. Returns an SQLite result code. */
int page_file_open(struct guard *guard, int fd, uint64_t file_bytes);
