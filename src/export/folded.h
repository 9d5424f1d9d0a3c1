/*
 * export/folded - stacks as folded text (import/folded/folded.c), one a line, root
 * first. One event has one count a line; two have two, as difffolded.pl and flame
 * graphs of CPI read them. Lines are sorted by their bytes and stacks
 * of equal text are one line, so equal profiles give equal text.
 */
#pragma once

#include "export/exporter.h"

extern const struct exporter exporter_folded;
