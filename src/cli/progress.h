/*
 * progress - the one line of a recording that is written over: on a terminal, unless culprit is to
 * be quiet.
 */
#pragma once

struct recorder_progress;

void progress_show(const struct recorder_progress *progress);
void progress_clear(void); /* before anything else is said there */
