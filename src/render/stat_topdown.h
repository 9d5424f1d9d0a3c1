/*
 * stat_topdown - what slots were used for, as lines of `culprit stat` and in its JSON.
 */
#pragma once

#include "analyze/counted/counts.h"
#include "base/json_stream.h"
#include "machine/topdown.h"

#define STAT_TOPDOWN_NAME_SIZE 48
#define STAT_TOPDOWN_NOTE_SIZE 192

/* Whether it has a line: it is known, or a part of level 1 that everybody has. */
bool stat_topdown_is_shown(const struct topdown *topdown, unsigned category);
/* "35.2" (percent) or "<not counted>", "  light_operations", and what is to be known of it: core
 * type, method, resolution, doubts, or why it is not known. */
void stat_topdown_line(const struct topdown *topdown, const char *core_type, unsigned category,
		       char figure[STAT_TOPDOWN_NAME_SIZE], char name[STAT_TOPDOWN_NAME_SIZE],
		       char note[STAT_TOPDOWN_NOTE_SIZE]);
/* "topdown": an array, one for each core type. */
void stat_topdown_add_json(struct json_stream *json, const struct counts *counts,
			   const struct counts_row *row);
