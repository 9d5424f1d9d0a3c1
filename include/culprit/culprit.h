/*
 * culprit/culprit.h - libculprit: counts hardware events around exactly one piece of one's own
 * program. All of it; each part is a header of its own:
 *
 *	culprit/counter.h   events around a piece of code
 *	culprit/region.h    named pieces, many times, per thread
 *	culprit/topdown.h   what the pipeline's slots were used for
 *	culprit/sampler.h   where, within a piece, events happen
 *	culprit/print.h     values as text, CSV and JSON
 *
 * C11 and C++17. Link with `pkg-config --cflags --libs culprit`.
 */
#ifndef CULPRIT_CULPRIT_H
#define CULPRIT_CULPRIT_H

#include "counter.h"
#include "error.h"
#include "print.h"
#include "region.h"
#include "sampler.h"
#include "topdown.h"

#ifdef __cplusplus
extern "C" {
#endif

/* "0.1.0": of the library that is linked; a string that lives for ever. */
CULPRIT_API const char *culprit_version(void);

/* Keeps the compiler from leaving out what computed `value`, and from moving memory accesses across
   this place. Costs no instruction but the one that would bring the value into a register. */
#define CULPRIT_KEEP(value) __asm__ volatile("" : : "r,m"(value) : "memory")

#ifdef __cplusplus
}
#endif
#endif
