#include "cli/verbs.h"

#include <stddef.h>

const struct verb *const verbs[] = {
	&verb_record,	&verb_top,	  &verb_stat,	&verb_report, &verb_annotate, &verb_summary,
	&verb_accuracy, &verb_cfg,	  &verb_flame,	&verb_diff,   &verb_spread,   &verb_import,
	&verb_export,	&verb_doctor,	  &verb_events, &verb_check,  &verb_daemon,   &verb_ctl,
	&verb_db,	&verb_completion, NULL,
};
