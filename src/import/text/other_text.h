/*
 * other_text - texts that no importer reads and people have at hand all the same:
 * reports of profilers, files of /proc, logs, tables. They are known by marks, so
 * that a refusal can say what the text is and what to give instead.
 */
#pragma once

#include "base/span.h"

struct other_text {
	const char *what;    /* "the report of perf report" */
	const char *instead; /* "give culprit ...", or NULL: nothing helps */
};

/* What these first bytes of a text are, or NULL. */
const struct other_text *other_text_find(struct span head);
