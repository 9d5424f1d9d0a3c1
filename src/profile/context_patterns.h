/*
 * context_patterns - who somebody means who writes down a command, a control group, a service or a
 * container: as filters of reports take it, and choices of what a recording keeps. A `*` stands for
 * any text, and so on (glob(7)), "/" included; a name with such characters is meant by itself, too.
 */
#pragma once

#include <stdbool.h>

#include "base/span.h"

struct profile_context;

/* Whether the text is what the pattern is, or fits it. An absent one fits nothing. */
bool pattern_matches(const char *pattern, struct span text);
/* Whether some other text may fit the pattern than itself. */
bool pattern_is_glob(const char *pattern);
/* The group of that path, and those below it. */
bool pattern_matches_cgroup(const char *pattern, struct span path);

/* The command's name, or the pid where that was kept. */
bool context_is_process(const char *pattern, const struct profile_context *context);
bool context_is_in_cgroup(const char *pattern, const struct profile_context *context);
/* A service by its whole name, that of a user's manager before it, "user@1000.service/x.service";
 * ".service" at the end may be left out. */
bool context_is_in_service(const char *pattern, const struct profile_context *context);
/* A container by its name, or by the first digits of one, six or more. */
bool context_is_in_container(const char *pattern, const struct profile_context *context);
