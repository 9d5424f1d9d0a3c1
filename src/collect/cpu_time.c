#include "collect/cpu_time.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/small_file.h"

#define STAT_LIMIT (16u << 20) /* the line of interrupts alone is long on large machines */

static void parse_line(const char *line, uint64_t wall_ns, uint64_t tick_ns, const int *cpus,
		       size_t count, struct cpu_time *times)
{
	char *at;
	long cpu = strtol(line, &at, 10);
	uint64_t fields[8] = { 0 }; /* user nice system idle iowait irq softirq steal */
	for (size_t i = 0; i < 8; i++) {
		char *end;
		fields[i] = strtoull(at, &end, 10);
		if (end == at)
			return;
		at = end;
	}
	for (size_t slot = 0; slot < count; slot++) {
		if (cpus[slot] != cpu)
			continue;
		times[slot] = (struct cpu_time){ true, wall_ns, (fields[3] + fields[4]) * tick_ns,
						 fields[7] * tick_ns };
	}
}

void cpu_time_parse(struct span text, uint64_t wall_ns, uint64_t tick_ns, const int *cpus,
		    size_t count, struct cpu_time *times)
{
	memset(times, 0, count * sizeof(*times));
	const char *at = text.data;
	const char *end = at ? at + text.size : NULL;
	char line[512];
	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		size_t length = (size_t)((newline ? newline : end) - at);
		if (length > 3 && length < sizeof(line) && memcmp(at, "cpu", 3) == 0 &&
		    at[3] >= '0' && at[3] <= '9') {
			memcpy(line, at + 3, length - 3);
			line[length - 3] = 0;
			parse_line(line, wall_ns, tick_ns, cpus, count, times);
		}
		at += length + 1;
	}
}

/* How much `away_ns` may be wrong: the recorder looks ten times a second, if it gets a CPU, for
 * what the kernel knows at once; and idle time comes in ticks. */
#define AWAY_ERROR_NS UINT64_C(250000000)
#define AWAY_SHARE    100 /* of the time online: an absence below that changes little */

bool cpu_time_idle_offline(uint64_t idle_ns, uint64_t online_ns, uint64_t away_ns,
			   uint64_t *offline_ns)
{
	bool none = idle_ns <= online_ns + AWAY_ERROR_NS;
	bool all = idle_ns + AWAY_ERROR_NS >= away_ns;
	bool little = away_ns <= AWAY_ERROR_NS || away_ns <= online_ns / AWAY_SHARE;
	*offline_ns = none ? 0 : idle_ns < away_ns ? idle_ns : away_ns;
	return none ? !all || little : all;
}

int cpu_time_read(const int *cpus, size_t count, struct cpu_time *times)
{
	CLEANUP(buffer_release) struct buffer text = { 0 };
	memset(times, 0, count * sizeof(*times));
	int ret = small_file_read("/proc/stat", STAT_LIMIT, &text);
	if (ret < 0)
		return ret;
	cpu_time_parse((struct span){ text.data, text.size }, clock_monotonic_ns(),
		       1000000000u / (uint64_t)sysconf(_SC_CLK_TCK), cpus, count, times);
	return 0;
}
