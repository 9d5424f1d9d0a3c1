/*
 * culprit/pfm.h - libpfm4's names of events for culprit/counter.h. In a library of its own,
 * libculprit-pfm, which alone needs libpfm4.
 */
#ifndef CULPRIT_PFM_H
#define CULPRIT_PFM_H

#include "error.h"

#ifdef __cplusplus
extern "C" {
#endif

struct culprit_names;

/* For struct culprit_options; lives for ever. Names are asked for while counters are opened, by one
   thread at a time. */
CULPRIT_API const struct culprit_names *culprit_pfm_names(void);

#ifdef __cplusplus
}
#endif
#endif
