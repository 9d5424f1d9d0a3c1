/*
 * limit_text - what limits a run (analyze/counted/limiting_factor.h), as a sentence.
 */
#pragma once

#include <stddef.h>

struct limiting_factor;

#define LIMIT_TEXT_SIZE 256

/* "CPU-bound: 0.99 CPUs used, 1.35 instructions per cycle" */
void limit_text(const struct limiting_factor *factor, char text[LIMIT_TEXT_SIZE]);
