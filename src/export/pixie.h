/*
 * pixie - executions of basic blocks as text, after MIPS' pixie, whose .Addrs and
 * .Counts files had the address and the count of each block: here both stand on one line,
 * with what an estimate has besides. docs/man/culprit-export.1.scd has the format.
 */
#pragma once

#include "export/exporter.h"

extern const struct exporter exporter_pixie;
