/*
 * sides - events of which what user code does can be counted without what the kernel does for it,
 * and how those are named of which only that is counted.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct event;

/* Not of the clocks and of whole sockets, which know no sides, nor of context switches and
 * migrations, which happen in the kernel alone (machine/event.h). */
bool event_has_sides(const struct event *event);

/* Puts perf's "u" behind a name as it was written, as far as there is room: "cycles:u",
 * "cycles:ppu", "cpu/event=0x3c/u", "INST_RETIRED:ANY_P:u". */
void name_user_side(char *name, size_t size);
