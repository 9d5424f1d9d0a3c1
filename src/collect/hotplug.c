#include "collect/hotplug.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "collect/counters.h"
#include "collect/ledger.h"

#define ONLINE_PATH "/sys/devices/system/cpu/online"

/* Reads the list of online CPUs. Whether it has changed. */
static bool read_online(struct hotplug *hotplug)
{
	char text[HOTPLUG_TEXT_BYTES];
	ssize_t size = hotplug->fd < 0 ? -1 : pread(hotplug->fd, text, sizeof(text) - 1, 0);
	if (size <= 0 ||
	    ((size_t)size == hotplug->text_bytes && memcmp(text, hotplug->text, (size_t)size) == 0))
		return false;
	memcpy(hotplug->text, text, (size_t)size);
	hotplug->text_bytes = (size_t)size;
	text[size] = 0;
	text[strcspn(text, "\n")] = 0;
	struct cpu_set online;
	if (cpu_set_parse(text, &online, NULL) < 0 || cpu_set_empty(&online))
		return false;
	hotplug->online = online;
	return true;
}

void hotplug_start(struct hotplug *hotplug, const struct counters *counters, uint64_t now_ns)
{
	struct cpu_set watched = { 0 };
	*hotplug = HOTPLUG_NONE;
	hotplug->start_ns = now_ns;
	if (counters->options.inherit)
		return;
	hotplug->fd = open(ONLINE_PATH, O_RDONLY | O_CLOEXEC);
	for (size_t slot = 0; slot < counters->cpu_count; slot++)
		cpu_set_add(&watched, (size_t)counters->cpus[slot]);
	hotplug->all = read_online(hotplug) && cpu_set_equal(&hotplug->online, &watched);
	hotplug->away = !hotplug->all; /* one may have left since it was opened */
}

void hotplug_release(struct hotplug *hotplug)
{
	if (hotplug->fd >= 0)
		close(hotplug->fd);
	*hotplug = HOTPLUG_NONE;
}

/* `goes_on`: it is an absence that was noted up to from_ns already. */
static void note_absence(struct hotplug *hotplug, int cpu, uint64_t from_ns, uint64_t to_ns,
			 bool goes_on)
{
	hotplug->absences += !goes_on;
	if (hotplug->absences == 1 && !goes_on) {
		hotplug->first_cpu = cpu;
		hotplug->first_from_ns = hotplug->first_to_ns = from_ns;
	}
	if (cpu == hotplug->first_cpu && from_ns == hotplug->first_to_ns)
		hotplug->first_to_ns = to_ns;
	hotplug->absent_ns += to_ns - from_ns;
	cpu_set_add(&hotplug->absent, (size_t)cpu);
}

/* Opens the events of a CPU that is back. 0, also when it has left again or they cannot be opened;
 * or -ENOMEM. */
static int reopen(struct hotplug *hotplug, struct counters *counters, struct ledger *ledger,
		  size_t slot)
{
	struct error err;
	uint64_t from_ns, to_ns;
	bool goes_on = counters->absences[slot].billed;
	int ret = counters_return_cpu(counters, slot, &from_ns, &to_ns, &err);
	if (ret < 0) {
		if (ret != -ENODEV) /* it has left again */
			hotplug->refusal = ret;
		return ret == -ENOMEM ? ret : 0;
	}
	hotplug->refusal = 0;
	ledger_leave_out(ledger, slot, to_ns - from_ns);
	struct cpu_time now;
	cpu_time_read(&counters->cpus[slot], 1, &now); /* unknown when it fails */
	ledger_return(ledger, slot, &now);
	note_absence(hotplug, counters->cpus[slot], from_ns, to_ns, goes_on);
	return 0;
}

int hotplug_follow(struct hotplug *hotplug, struct counters *counters, struct ledger *ledger,
		   uint64_t now_ns)
{
	/* A CPU that could not be opened again is tried again each time. */
	if (!read_online(hotplug) && !hotplug->away)
		return 0;
	struct cpu_set watched = { 0 };
	int ret = 0;
	hotplug->away = false;
	for (size_t slot = 0; slot < counters->cpu_count && hotplug->fd >= 0 && ret == 0; slot++) {
		bool online = cpu_set_has(&hotplug->online, (size_t)counters->cpus[slot]);
		cpu_set_add(&watched, (size_t)counters->cpus[slot]);
		if (!online)
			counters_lose_cpu(counters, slot, now_ns);
		else if (counters->absences[slot].away)
			ret = reopen(hotplug, counters, ledger, slot);
		hotplug->away |= counters->absences[slot].away;
	}
	for (size_t cpu = cpu_set_next(&hotplug->online, 0); hotplug->all && cpu < CPU_SET_LIMIT;
	     cpu = cpu_set_next(&hotplug->online, cpu + 1))
		if (!cpu_set_has(&watched, cpu))
			cpu_set_add(&hotplug->late, cpu);
	return ret;
}

int hotplug_check(struct hotplug *hotplug, struct counters *counters, struct ledger *ledger,
		  uint64_t now_ns)
{
	int ret = 0;
	/* The enabled time of a control group's events stands still while the group does not run.
	 */
	if (hotplug->fd < 0 || counters->watched_flags)
		return 0;
	for (size_t i = 0; i < counters->count && ret == 0; i++) {
		const struct counter *counter = &counters->list[i];
		size_t slot = counter->slot;
		if (!counter->stood_still || counter->gone ||
		    !cpu_set_has(&hotplug->online, (size_t)counters->cpus[slot]))
			continue;
		counters_lose_cpu(counters, slot, now_ns);
		ret = reopen(hotplug, counters, ledger, slot);
		hotplug->away |= counters->absences[slot].away;
	}
	return ret;
}

void hotplug_settle(struct hotplug *hotplug, struct counters *counters, struct ledger *ledger,
		    uint64_t now_ns)
{
	for (size_t slot = 0; slot < counters->cpu_count; slot++) {
		struct cpu_absence *absence = &counters->absences[slot];
		if (!absence->away || absence->since_ns >= now_ns)
			continue;
		ledger_leave_out(ledger, slot, now_ns - absence->since_ns);
		note_absence(hotplug, counters->cpus[slot], absence->since_ns, now_ns,
			     absence->billed);
		absence->since_ns = now_ns;
		absence->billed = true;
	}
}

static size_t describe_absences(const struct hotplug *hotplug, char *text, size_t size)
{
	size_t cpus = cpu_set_count(&hotplug->absent);
	double from = (double)(hotplug->first_from_ns - hotplug->start_ns) / 1e9;
	double to = (double)(hotplug->first_to_ns - hotplug->start_ns) / 1e9;
	int length = 0;
	if (!hotplug->absences)
		return 0;
	if (hotplug->absences == 1)
		length =
			snprintf(text, size,
				 "CPU %d was offline from %.2f s to %.2f s: nothing is known of it "
				 "for %.2f s",
				 hotplug->first_cpu, from, to, (double)hotplug->absent_ns / 1e9);
	else
		length = snprintf(text, size,
				  "%zu CPU%s offline %" PRIu64 " times, the first time CPU %d from "
				  "%.2f s to %.2f s: nothing is known of %s for %.2f CPU-seconds",
				  cpus, cpus == 1 ? " was" : "s were", hotplug->absences,
				  hotplug->first_cpu, from, to, cpus == 1 ? "it" : "them",
				  (double)hotplug->absent_ns / 1e9);
	if (length > 0 && (size_t)length < size && hotplug->refusal)
		length += snprintf(text + length, size - (size_t)length,
				   "; one could not be watched again: %s",
				   strerror(-hotplug->refusal));
	return length > 0 && (size_t)length < size ? (size_t)length : 0;
}

void hotplug_describe(const struct hotplug *hotplug, char *text, size_t size)
{
	text[0] = 0;
	size_t length = describe_absences(hotplug, text, size);
	if (cpu_set_empty(&hotplug->late))
		return;
	size_t late = cpu_set_count(&hotplug->late);
	snprintf(text + length, size - length,
		 "%s%zu CPU%s (CPU %zu%s) came online after the recording began and %s not watched",
		 length ? "; " : "", late, late == 1 ? "" : "s", cpu_set_next(&hotplug->late, 0),
		 late == 1 ? "" : " and others", late == 1 ? "is" : "are");
}
