/*
 * stat_figures - numbers of `culprit stat` as perf stat writes them, for its text and for its lines
 * of fields.
 */
#pragma once

#include "analyze/counted/counts.h"

#define STAT_FIGURE_SIZE 64

enum stat_digits { STAT_PLAIN, STAT_GROUPED };

/* "1,234,567", "0.58" with the unit "msec" for clocks, "<not counted>". *unit: "" or a word. */
void stat_figure_value(const struct counts_event *event, const struct counts_value *value,
		       enum stat_digits digits, char text[STAT_FIGURE_SIZE], const char **unit);
/* A count, or the mean of some, of which few are not rounded to 0: two decimals below 100. */
void stat_figure_count(double value, char text[STAT_FIGURE_SIZE]);
/* "0.451" and "CPUs utilized", "83.104" and "K/sec"; both empty where there is none. */
void stat_figure_remark(const struct counts_remark *remark, char text[STAT_FIGURE_SIZE],
			const char **words);
/* Of a metric: four decimals, one from 1000 on, and four digits below 0.1. */
void stat_figure_metric(const struct counts_value *value, char text[STAT_FIGURE_SIZE]);
void stat_figure_number(double value, char text[STAT_FIGURE_SIZE]); /* the same of a number */
