/*
 * own_rules - the unwind rules of the files that this process runs.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct buffer;

/* Appends the table (unwind/frame_table.h) of the file that has the code at `address`; false when
 * none has. */
bool own_rules_table(uint64_t address, struct buffer *out);
