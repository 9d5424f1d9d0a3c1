#include "collect/process_time.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/small_file.h"

#define STAT_LIMIT 4096

/* proc(5): fields behind the name, the state is the first */
enum { STAT_UTIME = 11, STAT_STIME, STAT_CUTIME, STAT_CSTIME, STAT_STARTTIME = 19, STAT_FIELDS };

int process_time_parse(struct span text, enum process_time_of of, uint64_t tick_ns,
		       struct process_time *time)
{
	char line[STAT_LIMIT];
	if (!text.size || text.size >= sizeof(line))
		return -EBADMSG;
	memcpy(line, text.data, text.size);
	line[text.size] = 0;
	char *at = strrchr(line, ')'); /* the name may hold anything */
	if (!at || strncmp(at, ") ", 2) != 0 || !at[2])
		return -EBADMSG;
	uint64_t fields[STAT_FIELDS] = { 0 };
	at += 3; /* behind the state */
	for (size_t i = 1; i < STAT_FIELDS; i++) {
		char *end;
		fields[i] = strtoull(at, &end, 10);
		if (end == at)
			return -EBADMSG;
		at = end;
	}
	uint64_t user = fields[STAT_UTIME], system = fields[STAT_STIME];
	if (of == PROCESS_TIME_PROCESS) {
		user += fields[STAT_CUTIME];
		system += fields[STAT_CSTIME];
	}
	*time = (struct process_time){ user * tick_ns, system * tick_ns, fields[STAT_STARTTIME] };
	return 0;
}

int process_time_read(pid_t id, enum process_time_of of, struct process_time *time)
{
	CLEANUP(buffer_release) struct buffer text = { 0 };
	char path[64];
	if (of == PROCESS_TIME_THREAD)
		snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", id, id);
	else
		snprintf(path, sizeof(path), "/proc/%d/stat", id);
	int ret = small_file_read(path, STAT_LIMIT - 1, &text);
	if (ret < 0)
		return ret;
	return process_time_parse((struct span){ text.data, text.size }, of,
				  1000000000u / (uint64_t)sysconf(_SC_CLK_TCK), time);
}
