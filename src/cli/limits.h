/*
 * limits - the option --limits of every verb that reads files: how much memory,
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
 * Opens the budget of the option's value: "none"; "512M", of memory; or "memory=512M,depth=100000"
 * by the names of budget.h; NULL: the usual limits. One that is already open stays as it is.
 * Returns 0, or the exit status after a message.
 */
int limits_open(const char *text);
