/*
 * progress - the one line that shows the progress of a recording and is overwritten: on a terminal
 * only, and not with --quiet.
 */
#pragma once

struct recorder_progress;

void progress_show(const struct recorder_progress *progress);
void progress_clear(void); /* before any other output to the terminal */
