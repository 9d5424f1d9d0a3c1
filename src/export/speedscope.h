/*
 * export/speedscope - the file format of speedscope.app: one sampled profile an
 * event, whose stacks weigh what the event's estimate is. Frames are procedures
 * with the file and line where they begin.
 */
#pragma once

#include "export/exporter.h"

extern const struct exporter exporter_speedscope;
