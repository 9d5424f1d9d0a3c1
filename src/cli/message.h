/*
 * message - what the program says on stderr: "culprit: ...". Lower case, no
 * full stop. Only cli/ prints.
 */
#pragma once

#include <stdbool.h>

__attribute__((format(printf, 1, 2))) void message_error(const char *format, ...);
__attribute__((format(printf, 1, 2))) void message_warning(const char *format, ...);
/* Dropped by --quiet. */
__attribute__((format(printf, 1, 2))) void message_note(const char *format, ...);
void message_set_quiet(void);
bool message_is_quiet(void);
