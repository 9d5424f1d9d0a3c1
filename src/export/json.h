/*
 * export/json - a profile as long rows (export/rows.h) in one JSON document:
 * {"schema": 1, "rows": [{...}, ...]}, a row a line. What a row has not got is
 * null.
 */
#pragma once

#include "export/exporter.h"

extern const struct exporter exporter_json;
