/*
 * message - what the program says on stderr: "culprit: ...". Lower case, no
 * full stop. Only cli/ prints.
 *
 * Every message is one line: what is a stranger's in it (base/visible_text.h) cannot
 * begin another, nor steer a terminal.
 */
#pragma once

#include <stdbool.h>

struct error;

/*
 * Whether an input went past its limits (base/budget.h). The first call prints which; since
 * whatever fails afterwards fails because of that, message_error() then prints nothing more.
 */
bool message_refused(void);
__attribute__((format(printf, 1, 2))) void message_error(const char *format, ...);
__attribute__((format(printf, 1, 2))) void message_warning(const char *format, ...);
/* A further line of the message before: "  ...". */
__attribute__((format(printf, 1, 2))) void message_detail(const char *format, ...);
/* Dropped by --quiet. */
__attribute__((format(printf, 1, 2))) void message_note(const char *format, ...);
/* Prints the error and returns 1, the exit status. */
int message_failure(const struct error *err);
/* Prints the error and returns the exit status: 2 for -EINVAL (the command line alone is wrong),
 * else 1. */
int message_refusal(const struct error *err);
void message_set_quiet(void);
bool message_is_quiet(void);
