#include "daemon/own_memory.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/small_file.h"

#define CHILDREN_BYTES 4096 /* of a thread's: helpers are few */

enum pages { ALL_PAGES, OWN_PAGES /* of no file, and not shared memory */ };

static uint64_t resident_of(const char *process, enum pages which)
{
	char path[64], line[128];
	uint64_t size, resident, shared;
	snprintf(path, sizeof(path), "/proc/%s/statm", process);
	if (small_file_read_line(path, line, sizeof(line)) < 0 ||
	    sscanf(line, "%" SCNu64 " %" SCNu64 " %" SCNu64, &size, &resident, &shared) != 3)
		return 0;
	if (which == OWN_PAGES)
		resident -= shared < resident ? shared : resident;
	return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Of the processes that this thread has started. */
static uint64_t resident_below(const char *thread)
{
	char path[300], list[CHILDREN_BYTES];
	uint64_t sum = 0;
	char *rest = NULL;
	snprintf(path, sizeof(path), "/proc/self/task/%s/children", thread);
	if (small_file_read_line(path, list, sizeof(list)) < 0)
		return 0;
	for (char *pid = strtok_r(list, " ", &rest); pid; pid = strtok_r(NULL, " ", &rest))
		sum += resident_of(pid, OWN_PAGES);
	return sum;
}

uint64_t own_memory_resident(void)
{
	uint64_t sum = resident_of("self", ALL_PAGES);
	DIR *threads = opendir("/proc/self/task");
	if (!threads)
		return sum;
	for (const struct dirent *entry = readdir(threads); entry; entry = readdir(threads))
		if (entry->d_name[0] != '.')
			sum += resident_below(entry->d_name);
	closedir(threads);
	return sum;
}
