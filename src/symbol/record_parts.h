/*
 * record_parts - what the files behind record.h know of each other.
 */
#pragma once

#include <stdbool.h>

struct record;

/* Of each content's first byte. A reader of a later version still reads this one. */
#define RECORD_VERSION 1

bool record_entries_right(const struct record *record);
