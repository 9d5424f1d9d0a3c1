#include <string.h>

#include "export/callgrind.h"
#include "export/csv.h"
#include "export/exporter.h"
#include "export/folded.h"
#include "export/json.h"
#include "export/perf_script.h"
#include "export/pixie.h"
#include "export/pprof.h"
#include "export/speedscope.h"

const struct exporter *const exporters[] = {
	&exporter_folded,     &exporter_perf_script,
	&exporter_firefox,    &exporter_pprof,
	&exporter_speedscope, &exporter_csv,
	&exporter_json,	      &exporter_callgrind,
	&exporter_pixie,      NULL,
};

const struct exporter *exporter_named(const char *name)
{
	for (size_t i = 0; exporters[i]; i++)
		if (strcmp(exporters[i]->name, name) == 0)
			return exporters[i];
	return NULL;
}
