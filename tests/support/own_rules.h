/*
 * own_rules - the unwind rules of the files that this process runs.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct frame_pool;
struct frame_pool_entry;
struct buffer;

/* Appends the table (unwind/frame_table.h) of the file that has the code at `address`; false when
 * none has. */
bool own_rules_table(uint64_t address, struct buffer *out);
/* Puts that table into a pool; false also when the pool has no room. */
bool own_rules_add(uint64_t address, struct frame_pool *pool, struct frame_pool_entry *entry);
