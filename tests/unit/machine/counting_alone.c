/*
 * counting_alone - linked with all of base and machine and with no library: prints the config of
 * the event that it is given, as perf writes it, so that the parts are not only linked.
 */
#include <stdio.h>

#include "base/cleanup.h"
#include "machine/event.h"
#include "machine/pmu.h"

int main(int argc, char **argv)
{
	CLEANUP(event_list_release) struct event_list list = { 0 };
	struct pmu_list pmus = { 0 };
	char text[256];
	if (argc != 2 || event_list_parse(&list, &pmus, NULL, argv[1], NULL))
		return 1;
	event_format_perf(&list.events[0], text, sizeof(text));
	puts(text);
	return 0;
}
