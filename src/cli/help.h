/*
 * help - what --help prints: on stdout, no line longer than 80 columns, no word cut.
 */
#pragma once

struct verb;

/* All verbs; the list ends with a NULL. */
void help_print_overview(const struct verb *const *verbs);
void help_print(const struct verb *verb);
