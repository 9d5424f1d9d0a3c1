/*
 * stat_limit - what a run of `culprit stat` was limited by.
 */
#pragma once

#include "analyze/counted/counts.h"
#include "analyze/counted/limiting_factor.h"
#include "cli/stat_run.h"

/* Of one row: all that was counted. `cpus`: that it may use. */
struct limiting_factor stat_limit_of(const struct counts *counts, const struct stat_times *times,
				     double cpus);
