/*
 * step_code - reads the code bytes of a thread that is stepped. Reading another process's memory
 * takes the lock of that memory, which its threads can hold as long as they like (for instance by
 * unmapping what a slow file system takes back); only the end of the reading process ends that
 * wait. The process that steps must not end, since the stepped thread would be killed by its next
 * trap. So a thread of its own reads, and the stepping thread stops waiting for it after a while,
 * to let the stepped thread go.
 *
 * Some hundred bytes are read at once and hold for one stretch: code that a program overwrites
 * within these milliseconds may be missed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define STEP_CODE_BYTES 16 /* no instruction is longer */

/* Starts the thread that reads, which keeps no capabilities; without it step_code_read() reads
 * itself. Call it once in a process, before that gives up its rights. 0 or negative errno. */
int step_code_start(void);
/* Whether the thread is still at a read that was given up: nothing can be read now. */
bool step_code_is_stuck(void);
/* To be called when a stretch begins: forgets what was read before. */
void step_code_begin(void);
/* Reads code at `address` of `fd`, an open /proc/TID/mem. What is not mapped is zeros. False: the
 * read does not end in time; all zeros. One thread at a time. */
bool step_code_read(int fd, uint64_t address, uint8_t code[STEP_CODE_BYTES]);
