/*
 * verbs - the table of what culprit can do; each verb lives in a file of its name.
 */
#pragma once

#include "cli/options.h"

/* In the order of help and completion; ends with a NULL. */
extern const struct verb *const verbs[];

extern const struct verb verb_accuracy;
extern const struct verb verb_cfg;
extern const struct verb verb_check;
extern const struct verb verb_completion;
extern const struct verb verb_ctl;
extern const struct verb verb_daemon;
extern const struct verb verb_db;
extern const struct verb verb_diff;
extern const struct verb verb_doctor;
extern const struct verb verb_events;
extern const struct verb verb_record;
extern const struct verb verb_import;
extern const struct verb verb_report;
extern const struct verb verb_annotate;
extern const struct verb verb_flame;
extern const struct verb verb_spread;
extern const struct verb verb_stat;
extern const struct verb verb_summary;
extern const struct verb verb_top;
extern const struct verb verb_export;
