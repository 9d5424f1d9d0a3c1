#include "support/replayed_kernel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIRST_FD 1000

struct replayed_kernel replayed;

void replayed_begin(void)
{
	for (size_t i = 0; i < replayed.count; i++)
		free(replayed.events[i].page);
	replayed = (struct replayed_kernel){ 0 };
}

static bool is_hardware(const struct replayed_event *event)
{
	return event->attr.type != PERF_TYPE_SOFTWARE;
}

static size_t group_size(int leader)
{
	size_t size = 0;
	for (size_t i = 0; i < replayed.count; i++)
		size += replayed.events[i].open && replayed.events[i].leader == leader &&
			is_hardware(&replayed.events[i]);
	return size;
}

static int replay_open(const struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd,
		       unsigned long flags)
{
	(void)flags;
	int refused = replayed.judge ? replayed.judge(attr, pid, cpu) : 0;
	if (refused)
		return refused;
	if (replayed.count == REPLAYED_EVENTS ||
	    (replayed.most_open && replayed.open == replayed.most_open))
		return -EMFILE;
	/* perf_event_open(2): only the leader of a group may be pinned */
	if (group_fd >= 0 && attr->pinned)
		return -EINVAL;
	if (group_fd >= 0 && replayed.refuses_large_groups && attr->type != PERF_TYPE_SOFTWARE &&
	    group_size(group_fd - FIRST_FD) >= replayed.pmu_counters)
		return -EINVAL;
	int number = (int)replayed.count++;
	replayed.open++;
	replayed.events[number] = (struct replayed_event){
		.attr = *attr,
		.pid = pid,
		.cpu = cpu,
		.leader = group_fd < 0 ? number : group_fd - FIRST_FD,
		.open = true,
		.enabled = !attr->disabled,
	};
	return FIRST_FD + number;
}

/* Groups are put on the PMU in the order of opening, each if it still fits. */
static bool is_on_pmu(const struct replayed_event *event)
{
	size_t used = 0;
	if (!replayed.pmu_counters || !is_hardware(event))
		return true;
	for (int i = 0; i < (int)replayed.count; i++) {
		size_t size = replayed.events[i].leader == i && replayed.events[i].open
				      ? group_size(i)
				      : 0;
		bool fits = size && used + size <= replayed.pmu_counters;
		if (event->leader == i)
			return fits;
		used += fits ? size : 0;
	}
	return false;
}

static ssize_t replay_read(int fd, void *buffer, size_t size)
{
	replayed.reads++;
	int fails = replayed.read_fails;
	if (fails && replayed.read_failures && --replayed.read_failures == 0)
		replayed.read_fails = 0;
	if (fails)
		return fails;
	struct replayed_event *event = &replayed.events[fd - FIRST_FD];
	if (event->in_error)
		return 0;
	bool trial = !(event->attr.read_format & PERF_FORMAT_GROUP);
	/* in a trial, time passes by itself */
	uint64_t words[3 + REPLAYED_EVENTS] = { 0 };
	size_t count = 0;
	if (trial) {
		words[count++] = event->count;
		words[count++] = 200000;
		words[count++] = is_on_pmu(event) ? 200000 : 0;
	} else {
		count = 3;
		words[1] = event->enabled_ns;
		words[2] = event->running_ns;
		for (size_t i = 0; i < replayed.count; i++)
			if (replayed.events[i].open && replayed.events[i].leader == event->leader) {
				words[0]++;
				words[count++] = replayed.events[i].count;
			}
	}
	if (size < count * sizeof(words[0]))
		return -ENOSPC;
	memcpy(buffer, words, count * sizeof(words[0]));
	return (ssize_t)(count * sizeof(words[0]));
}

static int replay_control(int fd, unsigned long request, unsigned long argument)
{
	replayed.controls++;
	int leader = replayed.events[fd - FIRST_FD].leader;
	for (size_t i = 0; i < replayed.count; i++) {
		struct replayed_event *event = &replayed.events[i];
		bool meant = argument & PERF_IOC_FLAG_GROUP ? event->leader == leader
							    : (int)i == fd - FIRST_FD;
		if (!meant || !event->open)
			continue;
		if (request == PERF_EVENT_IOC_ENABLE)
			event->enabled = true;
		else if (request == PERF_EVENT_IOC_DISABLE)
			event->enabled = false;
		else if (request == PERF_EVENT_IOC_RESET)
			event->count = 0;
	}
	return 0;
}

static void *replay_map(int fd, size_t size)
{
	struct replayed_event *event = &replayed.events[fd - FIRST_FD];
	if (replayed.maps_nothing)
		return NULL;
	event->page = calloc(1, size);
	if (event->page) {
		event->page->cap_user_rdpmc = replayed.has_rdpmc && is_hardware(event);
		event->page->pmc_width = (uint16_t)(replayed.width ? replayed.width : 48);
	}
	return event->page;
}

static void replay_unmap(void *pages, size_t size)
{
	(void)size;
	for (size_t i = 0; i < replayed.count; i++)
		if (replayed.events[i].page == pages)
			replayed.events[i].page = NULL;
	free(pages);
}

static void replay_close(int fd)
{
	replayed.events[fd - FIRST_FD].open = false;
	replayed.open--;
}

static uint64_t replay_counter(uint32_t counter)
{
	replayed.counter_reads++;
	if (replayed.interrupt)
		replayed.interrupt(counter);
	return replayed.counters[counter % REPLAYED_COUNTERS];
}

static uint64_t replay_ticks(void)
{
	return replayed.ticks;
}

const struct count_kernel count_kernel_replayed = {
	.open = replay_open,
	.read = replay_read,
	.control = replay_control,
	.map = replay_map,
	.unmap = replay_unmap,
	.close = replay_close,
	.read_counter = replay_counter,
	.ticks = replay_ticks,
};

struct replayed_event *replayed_find(uint32_t type, uint64_t config)
{
	for (size_t i = replayed.count; i-- > 0;)
		if (replayed.events[i].open && replayed.events[i].attr.type == type &&
		    replayed.events[i].attr.config == config)
			return &replayed.events[i];
	return NULL;
}

void replayed_schedule(struct replayed_event *event, uint32_t counter, int64_t offset)
{
	event->page->lock += 2;
	event->page->index = counter + 1;
	event->page->offset = offset;
}

void replayed_take_off(struct replayed_event *event)
{
	event->page->lock += 2;
	event->page->index = 0;
	event->page->offset = (int64_t)event->count;
}

void replayed_sample(struct replayed_event *event, size_t data_bytes, const uint64_t *words,
		     size_t size)
{
	uint8_t *data = (uint8_t *)event->page + sysconf(_SC_PAGESIZE);
	struct perf_event_header header = {
		.type = PERF_RECORD_SAMPLE,
		.size = (uint16_t)(sizeof(header) + size * sizeof(*words)),
	};
	uint8_t record[1024];
	memcpy(record, &header, sizeof(header));
	memcpy(record + sizeof(header), words, size * sizeof(*words));
	for (size_t i = 0; i < header.size; i++)
		data[(event->page->data_head + i) & (data_bytes - 1)] = record[i];
	event->page->data_head += header.size;
}
