/*
 * runs - which run an event or a recording of a profile is of, where several runs were merged to
 * one profile and have to be told apart again. The mark is one more key column of the tables
 * "event" and "source", so marked runs merge as any profiles do and their cells stay apart: nobody
 * who does not ask for the mark sees it. Marks live in memory: a marked profile is not stored.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct error;
struct profile;

/*
 * Marks all of a profile as of that run, 1 or more, whatever a file said before. Returns 0,
 * -ENOMEM, or -EBADMSG when the profile declares a column of that name otherwise, or more columns
 * than there may be; and fills *err. After a failure the profile is only fit to be freed.
 */
int profile_mark_run(struct profile *profile, uint64_t run, struct error *err);

/* The run of an event by its id, and of a row of the table "source"; 0: not marked. */
uint64_t profile_event_run(const struct profile *profile, uint64_t event);
uint64_t profile_source_run(const struct profile *profile, size_t row);
