/*
 * limits - --limits, of every verb that reads what others wrote: how much memory,
 * output and so on a file may cost (base/budget.h).
 */
#pragma once

#define LIMITS_OPTION_ROW(text)                                                                    \
	{                                                                                          \
		"limits", 0, OPTION_TEXT, "SIZE|NAME=N,...|none",                                  \
			"what files may cost: memory (64M), output, depth, frames, name", &(text), \
			NULL                                                                       \
	}

/*
 * "none"; "512M", of memory; or "memory=512M,depth=100000" of the names that budget.h has.
 * From here on it holds; NULL: the usual limits. What was opened before stays. Returns 0, or
 * the exit status after a message.
 */
int limits_open(const char *text);
