#include "cli/filters.h"

static struct report_patterns patterns_of(const struct option_list *list)
{
	return (struct report_patterns){ list->items, list->count };
}

void filters_apply(const struct filter_options *options, struct report_options *report)
{
	report->events = patterns_of(&options->events);
	report->processes = patterns_of(&options->processes);
	report->images = patterns_of(&options->images);
	report->cgroups = patterns_of(&options->cgroups);
	report->services = patterns_of(&options->services);
	report->containers = patterns_of(&options->containers);
	report->cpus = options->cpus;
	report->focus = options->focus;
	report->ignore = options->ignore;
}
