/*
 * passing_name - a temporary name for a file or folder until it is whole and is renamed:
 * NAME, a purpose, and ten characters that nobody can guess, so that nobody can have
 * planted anything there. passing_names_each() finds what a killed process left under
 * such names.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define PASSING_NAME_BYTES 256 /* NAME_MAX and the NUL */

/* `purpose` is short and ends with a dot, as ".new.". A NAME too long for the whole is cut. 0 or a
 * negative errno value.
 */
int passing_name_make(const char *name, const char *purpose, char made[PASSING_NAME_BYTES]);

/* Whether the name is one of that purpose, of whatever NAME. */
bool passing_name_is(const char *name, const char *purpose);

/* Calls `each` with every such name of NAME in `folder`; their order is the folder's. */
void passing_names_each(int folder, const char *name, const char *purpose,
			void (*each)(int folder, const char *found));
