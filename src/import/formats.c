#include "import/formats.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "import/importer.h"

const struct importer *const importers[] = {
	&importer_perf_data,
	&importer_cpu_profile,
	&importer_pprof,
	&importer_speedscope,
	&importer_callgrind,
	&importer_pmcstat,
	&importer_perf_script,
	&importer_folded, /* the weakest mark: last */
	NULL,
};

const struct importer *importer_find(const void *bytes, size_t size)
{
	for (size_t i = 0; size && importers[i]; i++)
		if (importers[i]->recognise(bytes, size))
			return importers[i];
	return NULL;
}

const struct importer *importer_named(const char *name)
{
	for (size_t i = 0; importers[i]; i++)
		if (strcmp(importers[i]->name, name) == 0)
			return importers[i];
	return NULL;
}

void import_report(const struct import_options *options, enum import_remark kind,
		   const char *format, ...)
{
	if (!options->say)
		return;
	char sentence[1024];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(sentence, sizeof(sentence), format, arguments);
	va_end(arguments);
	options->say(options->say_context, kind, sentence);
}

void import_report_unended(const struct import_options *options)
{
	import_report(
		options, IMPORT_NOTE,
		"no newline ends its last line: if the file was cut off, that line may be too");
}

int import_fault(const struct import_options *options, int code, struct error *err,
		 const char *format, ...)
{
	char sentence[sizeof(err->text)];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(sentence, sizeof(sentence), format, arguments);
	va_end(arguments);
	if (!options->force)
		return error_set(err, code, "%s", sentence);
	import_report(options, IMPORT_WARNING, "%s; what comes before is kept", sentence);
	return 0;
}
