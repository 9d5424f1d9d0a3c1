/*
 * cfg_no_return - functions that do not come back, by name: of the C library, the
 * languages' run times and the kernel. A function of that name elsewhere does the
 * same by convention; a program's own (die(), fatal()) are not known here, but a call
 * behind which a function's code ends is one too (cfg_blocks.c).
 */
#pragma once

#include <stdbool.h>

#include "base/span.h"

/* A linkage name; "@plt", "@GLIBC_2.2.5" and the like behind it do not count. */
bool cfg_is_no_return(struct span name);
