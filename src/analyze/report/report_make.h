/*
 * report_make - makes a whole report: its rows, in order and cut as the options say.
 */
#pragma once

#include "analyze/report/report.h"

/*
 * Returns 0 and stores a report that the caller frees; or -EINVAL (an option
 * that can't be used: a bad expression, an ambiguous procedure), -ENOENT (an
 * event or procedure that is not there), -ENODATA (the view needs stacks, or what
 * else the profile did not keep), -EOVERFLOW (the profile contradicts itself, so that
 * a sum passes 64 bits), -ENOMEM, and fills *err.
 */
int report_new(const struct profile *profile, struct resolver *resolver,
	       const struct report_options *options, struct report **out, struct error *err);
