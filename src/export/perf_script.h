/*
 * export/perf_script - the text that `perf script --header` prints.
 *
 * perf-script has one block a stack, whose period is the stack's whole estimate:
 * what stackcollapse-perf.pl and others add up, in the least room. firefox has one
 * block a sample, at times of their own, for readers that count blocks
 * (profiler.firefox.com); of large profiles fewer, as many for each stack as its
 * share is. Their periods still add up to the estimates.
 *
 * Periods are whole numbers in steps of 10^-scale of the event.
 */
#pragma once

#include "export/exporter.h"

#define PERF_SCRIPT_MOST_BLOCKS 200000u /* of firefox, but for stacks that would have none */

extern const struct exporter exporter_perf_script;
extern const struct exporter exporter_firefox;
