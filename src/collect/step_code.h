/*
 * step_code - the code bytes of a thread that is stepped. Reading another's memory waits for the
 * lock of that memory, which a thread of its process can hold as long as it likes (one that unmaps
 * what a file system takes back), and only the end of whoever reads ends that. Who steps must not
 * end: the thread would be left with a trap that nobody awaits. So a thread of its own reads, and
 * who steps gives it up after a while, to let his thread go.
 *
 * It reads some hundred bytes at once, which hold for one stretch: what a program writes over its
 * code within these milliseconds may be missed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define STEP_CODE_BYTES 16 /* no instruction is longer */

/* Starts the thread that reads; without it who asks reads himself. Once in a process, before it
 * gives up its rights, of which the thread keeps none. 0 or negative errno. */
int step_code_start(void);
/* Whether it waits still for what was given up: nothing can be read. */
bool step_code_is_stuck(void);
/* A stretch begins: what was read before does not hold. */
void step_code_begin(void);
/* `fd` is /proc/TID/mem. At the end of what is mapped it comes out shorter, with zeros behind.
 * False: it does not come; all zeros. */
bool step_code_read(int fd, uint64_t address, uint8_t code[STEP_CODE_BYTES]);
