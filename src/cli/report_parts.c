#include "cli/report_parts.h"

#include <string.h>

#include "analyze/report/report.h"
#include "cli/options.h"

int report_parts_choose(const struct verb *verb, const char *by, struct report_options *options)
{
	const char *text = by ? by : report_part_names[REPORT_PROCEDURE];
	while (true) {
		size_t size = strcspn(text, ",");
		size_t part = 0;
		while (part < REPORT_PARTS && (strlen(report_part_names[part]) != size ||
					       memcmp(report_part_names[part], text, size) != 0))
			part++;
		if (part == REPORT_PARTS)
			return options_misuse(verb,
					      "--by knows procedure, image, process, thread, cpu, "
					      "cgroup, service, container, line and address, not "
					      "'%.*s'",
					      (int)size, text);
		for (size_t i = 0; i < options->part_count; i++)
			if (options->parts[i] == part)
				return options_misuse(verb, "--by has %s twice",
						      report_part_names[part]);
		options->parts[options->part_count++] = part;
		if (text[size] == 0)
			return 0;
		text += size + 1;
	}
}
