/*
 * formats - the rows of the table of formats; each is defined in the file of its
 * format. Formats whose mark is sure come first in formats.c.
 */
#pragma once

#include "import/importer.h"

extern const struct importer importer_callgrind;
extern const struct importer importer_cpu_profile;
extern const struct importer importer_folded;
extern const struct importer importer_perf_data;
extern const struct importer importer_perf_script;
extern const struct importer importer_pmcstat;
extern const struct importer importer_pprof;
extern const struct importer importer_speedscope;
