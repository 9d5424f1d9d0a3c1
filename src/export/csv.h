/*
 * export/csv - a profile as long rows (export/rows.h), quoted as RFC 4180 has it,
 * with a row of column names first. Lines end in a newline. A cell without a
 * value is empty; an empty text is "".
 */
#pragma once

#include "export/exporter.h"

extern const struct exporter exporter_csv;
