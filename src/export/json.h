/*
 * export/json - a profile as long rows (export/rows.h) in one JSON document:
 * {"schema": 1, "rows": [{...}, ...]}, a row a line. Cells without a value are
 * null.
 */
#pragma once

#include "export/exporter.h"

extern const struct exporter exporter_json;
