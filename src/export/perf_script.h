/*
 * export/perf_script - the text that `perf script --header` prints.
 *
 * perf-script has one block a stack, whose period is the stack's whole estimate:
 * stackcollapse-perf.pl and others add periods up, so that is the shortest text for
 * them. firefox has one block a sample, each at a time of its own, for readers that count
 * blocks (profiler.firefox.com); of large profiles fewer, in proportion to the samples of
 * each stack. The periods add up to the estimates in both.
 *
 * Periods are whole numbers in steps of 10^-scale of the event.
 */
#pragma once

#include "export/exporter.h"

#define PERF_SCRIPT_MOST_BLOCKS 200000u /* of firefox, beside one for each stack with less */

extern const struct exporter exporter_perf_script;
extern const struct exporter exporter_firefox;
