/*
 * perf_script_columns - whether a text is what `perf script` prints, and which
 * lines begin its samples, which depends on the fields that perf was to print (-F).
 */
#pragma once

#include "base/span.h"

enum perf_script_layout {
	PERF_SCRIPT_NONE,  /* it is not perf's */
	PERF_SCRIPT_WORDS, /* a sample begins with a line that has a time or an event */
	/* without time and event: */
	PERF_SCRIPT_CHAINS, /* a sample is a line of any columns, a chain, and a blank line */
	PERF_SCRIPT_BARE,   /* the same without any column: that line is blank */
	PERF_SCRIPT_LINES,  /* a sample is a line that ends in a place */
};

/* By the first bytes of a text: most of their lines must be perf's, behind the first that is. */
enum perf_script_layout perf_script_layout(struct span head);
