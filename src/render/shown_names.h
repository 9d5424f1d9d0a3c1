/*
 * shown_names - long procedure names folded (analyze/names/fold_name.h) for a table,
 * where no two different ones would read the same.
 */
#pragma once

#include <stddef.h>

struct arena;

/* Replaces names (which may be NULL) by what is shown of them; new texts live in the arena. 0 or
 * -ENOMEM. */
int shown_names_fold(const char **names, size_t count, struct arena *arena);
