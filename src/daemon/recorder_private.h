/*
 * recorder_private - what the parts of recorder.h share: the run of a recording (recorder.c), and
 * the files that it makes (recorder_epoch.c).
 */
#pragma once

#include "daemon/recorder.h"

/* Tells the listener. */
__attribute__((format(printf, 3, 4))) void
recorder_say(const struct recorder *recorder, enum recorder_news kind, const char *format, ...);

/* Opens the profile, or the next epoch of the database, with the recorder's labels. 0, or a
 * negative errno value with *err. */
int recorder_make_epoch(struct recorder *recorder, struct epoch **epoch, struct error *err);
