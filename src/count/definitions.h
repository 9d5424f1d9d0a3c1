/*
 * definitions - names of events of a user's own: a text of lines `name = event`, where the event is
 * anything that may be written in its place ("r412e", "cpu/event=0x3c,umask=1/u"). # begins a
 * comment. A name consists of what a name of libpfm4 may: letters, digits and _ . - : and does not
 * begin with a digit. The kernel's own names come first: a definition that has one is refused,
 * since it would never be used.
 */
#pragma once

#include <stddef.h>

#include "machine/event_namer.h"

struct definitions;
struct error;
struct pmu_list;

/*
 * Reads the text; `name` of it is for messages. `further`, which may be NULL, is asked for names
 * that are not defined, and may be used in definitions; it and `pmus` have to outlive the
 * definitions. 0 and *definitions; -EINVAL with name and line in *err; -ENOMEM.
 */
int definitions_parse(const char *text, size_t size, const char *name, const struct pmu_list *pmus,
		      const struct event_namer *further, struct definitions **definitions,
		      struct error *err);
void definitions_free(struct definitions *definitions); /* NULL: nothing */

/* For event_list_parse(), in place of `further`. */
const struct event_namer *definitions_namer(const struct definitions *definitions);
