/*
 * LONG_FORM - whether unit tests run in full, with LONG_FORM=1 in the environment. Otherwise they
 * run less of what takes longest; each place says what it leaves out, and why that shows the same.
 */
#pragma once

#include <stdbool.h>
#include <stdlib.h>

static inline bool long_form(void)
{
	const char *asked = getenv("LONG_FORM");
	return asked && asked[0];
}

#define LONG_FORM long_form()
