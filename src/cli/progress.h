/*
 * progress - the one line that shows how far a recording, or runs, have come and is overwritten: on
 * a terminal only, and not with --quiet.
 */
#pragma once

#include <stddef.h>

struct recorder_progress;

void progress_show(const struct recorder_progress *progress);
/* Round `round` of `rounds`, from 1; 0: one that is not counted. `left_s` NAN: not known yet. */
void progress_show_rounds(size_t round, size_t rounds, double left_s);
void progress_clear(void); /* before any other output to the terminal */
