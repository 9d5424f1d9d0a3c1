#include "support/made_up_events.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/clock.h"

struct made_up_kernel made_up;

/* Ends the program: nothing can be tested. */
static void must(bool holds)
{
	if (!holds)
		abort();
}

int __wrap_perf_open(const struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd,
		     unsigned long flags);
int __wrap_ioctl(int fd, unsigned long request, ...);
ssize_t __wrap_read(int fd, void *bytes, size_t size);
void *__wrap_mmap64(void *at, size_t size, int protection, int flags, int fd, off_t offset);
/* Of 64-bit systems, where these functions have no other names. */
void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset);
int __wrap_close(int fd);
int __real_ioctl(int fd, unsigned long request, ...);
ssize_t __real_read(int fd, void *bytes, size_t size);
void *__real_mmap64(void *at, size_t size, int protection, int flags, int fd, off_t offset);
int __real_close(int fd);

static struct made_up_event *event_of(int fd)
{
	for (size_t i = made_up.count; i > 0 && fd >= 0; i--)
		if (made_up.events[i - 1].fd == fd)
			return &made_up.events[i - 1];
	return NULL;
}

static void forget(struct made_up_event *event)
{
	__real_close(event->fd);
	__real_close(event->other_end);
	event->fd = -1;
}

void made_up_begin(void)
{
	for (size_t i = 0; i < made_up.count; i++) {
		struct made_up_event *event = &made_up.events[i];
		if (event->fd >= 0)
			forget(event);
		if (event->ring)
			munmap(event->ring, event->data_bytes + (size_t)sysconf(_SC_PAGESIZE));
	}
	memset(&made_up, 0, sizeof(made_up));
	made_up.counters = MADE_UP_MOST;
}

size_t made_up_open_count(void)
{
	size_t count = 0;
	for (size_t i = 0; i < made_up.count; i++)
		count += made_up.events[i].fd >= 0;
	return count;
}

struct made_up_event *made_up_find(uint32_t type, uint64_t config, int cpu)
{
	for (size_t i = made_up.count; i > 0; i--) {
		struct made_up_event *event = &made_up.events[i - 1];
		if (event->fd >= 0 && event->attr.type == type && event->attr.config == config &&
		    event->cpu == cpu)
			return event;
	}
	return NULL;
}

int __wrap_perf_open(const struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd,
		     unsigned long flags)
{
	int refusal = made_up.judge ? made_up.judge(attr, pid, cpu) : 0;
	int ends[2];
	if (refusal)
		return refusal;
	if (made_up.count == MADE_UP_MOST)
		return -EMFILE;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return -errno;
	made_up.events[made_up.count] = (struct made_up_event){ .fd = ends[0],
								.other_end = ends[1],
								.attr = *attr,
								.task = pid,
								.cpu = cpu,
								.leader_fd = group_fd,
								.flags = flags,
								.id = 1000 + made_up.count,
								.counts = !attr->disabled,
								.output_fd = -1 };
	made_up.count++;
	return ends[0];
}

static void count_by_itself(struct made_up_event *event)
{
	uint64_t now_ns = clock_monotonic_ns();
	if (event->rate && event->counts) {
		uint64_t us = (now_ns - event->counted_ns) / 1000;
		event->value += us * event->rate;
		event->enabled_ns += us * 1000;
		event->running_ns += us * 1000;
		event->counted_ns += us * 1000;
	} else {
		event->counted_ns = now_ns;
	}
}

static int control(struct made_up_event *event, unsigned long request, uintptr_t argument)
{
	if (event->refused_controls) {
		event->refused_controls--;
		errno = EIO;
		return -1;
	}
	switch (request) {
	case PERF_EVENT_IOC_ID:
		memcpy((void *)argument, &event->id, sizeof(event->id));
		return 0;
	case PERF_EVENT_IOC_SET_OUTPUT:
		errno = EINVAL;
		if (made_up.refuses_output)
			return -1;
		event->output_fd = (int)argument;
		return 0;
	case PERF_EVENT_IOC_PERIOD:
		memcpy(&event->attr.sample_period, (const void *)argument, sizeof(uint64_t));
		return 0;
	case PERF_EVENT_IOC_ENABLE:
	case PERF_EVENT_IOC_DISABLE:
		count_by_itself(event);
		event->counts = request == PERF_EVENT_IOC_ENABLE;
		event->times_enabled += event->counts;
		return 0;
	default:
		errno = ENOTTY;
		return -1;
	}
}

int __wrap_ioctl(int fd, unsigned long request, ...)
{
	struct made_up_event *event = event_of(fd);
	va_list list;
	va_start(list, request);
	uintptr_t argument = va_arg(list, uintptr_t);
	va_end(list);
	return event ? control(event, request, argument) : __real_ioctl(fd, request, argument);
}

/* Events that this thread has for itself, on the PMU if they find room there. */
static bool is_tried(const struct made_up_event *event)
{
	return event->fd >= 0 && event->task == 0 && event->cpu == -1 &&
	       event->attr.type != PERF_TYPE_SOFTWARE && !event->attr.sample_period;
}

static uint64_t running_ns(const struct made_up_event *event)
{
	size_t tried = 0;
	for (size_t i = 0; i < made_up.count && is_tried(event); i++)
		tried += is_tried(&made_up.events[i]);
	return tried ? tried <= made_up.counters : event->running_ns;
}

static uint64_t enabled_ns(const struct made_up_event *event)
{
	return is_tried(event) ? 1 : event->enabled_ns;
}

static size_t put_value(uint64_t *words, const struct made_up_event *event, uint64_t format)
{
	size_t count = 0;
	words[count++] = event->value;
	if (!(format & PERF_FORMAT_GROUP) && format & PERF_FORMAT_TOTAL_TIME_ENABLED)
		words[count++] = enabled_ns(event);
	if (!(format & PERF_FORMAT_GROUP) && format & PERF_FORMAT_TOTAL_TIME_RUNNING)
		words[count++] = running_ns(event);
	if (format & PERF_FORMAT_ID)
		words[count++] = event->id;
	if (format & PERF_FORMAT_LOST)
		words[count++] = event->lost;
	return count;
}

/* As perf_event_open(2) has it, "Reading results". */
static size_t put_reading(uint64_t *words, const struct made_up_event *event)
{
	uint64_t format = event->attr.read_format;
	if (!(format & PERF_FORMAT_GROUP))
		return put_value(words, event, format);
	size_t count = 1;
	words[0] = 1;
	if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
		words[count++] = enabled_ns(event);
	if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
		words[count++] = running_ns(event);
	count += put_value(words + count, event, format);
	for (size_t i = 0; i < made_up.count; i++) {
		const struct made_up_event *member = &made_up.events[i];
		if (member->fd < 0 || member->leader_fd != event->fd)
			continue;
		words[0]++;
		count += put_value(words + count, member, format);
	}
	return count;
}

ssize_t __wrap_read(int fd, void *bytes, size_t size)
{
	uint64_t words[4 + 3 * 64];
	struct made_up_event *event = event_of(fd);
	if (!event)
		return __real_read(fd, bytes, size);
	count_by_itself(event);
	size_t told = put_reading(words, event) * sizeof(*words);
	if (told > size) {
		errno = ENOSPC;
		return -1;
	}
	memcpy(bytes, words, told);
	return (ssize_t)told;
}

void *__wrap_mmap64(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
	struct made_up_event *event = event_of(fd);
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	if (!event)
		return __real_mmap64(at, size, protection, flags, fd, offset);
	if (made_up.pages_most && size > (made_up.pages_most + 1) * page) {
		errno = EPERM;
		return MAP_FAILED;
	}
	int memory = memfd_create("ring", MFD_CLOEXEC);
	must(memory >= 0 && ftruncate(memory, (off_t)size) == 0 && !event->ring);
	event->ring = __real_mmap64(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
	event->data_bytes = size - page;
	void *theirs = __real_mmap64(at, size, protection, flags, memory, offset);
	must(event->ring != MAP_FAILED && theirs != MAP_FAILED);
	__real_close(memory);
	return theirs;
}

void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
	return __wrap_mmap64(at, size, protection, flags, fd, offset);
}

int __wrap_close(int fd)
{
	struct made_up_event *event = event_of(fd);
	if (!event)
		return __real_close(fd);
	forget(event);
	return 0;
}

/* The event whose ring it writes into. That one may be closed already: its memory stays mapped. */
static struct made_up_event *ring_owner(struct made_up_event *event)
{
	for (size_t i = 0; i < made_up.count && event->output_fd >= 0; i++)
		if (made_up.events[i].fd == event->output_fd)
			return &made_up.events[i];
	return event;
}

struct perf_event_mmap_page *made_up_control(struct made_up_event *event)
{
	return ring_owner(event)->ring;
}

bool made_up_write(struct made_up_event *event, struct buffer *records)
{
	const struct made_up_event *owner = ring_owner(event);
	struct perf_event_mmap_page *page = owner->ring;
	must(page && !buffer_failed(records));
	uint8_t *data = (uint8_t *)owner->ring + (size_t)sysconf(_SC_PAGESIZE);
	uint64_t tail = __atomic_load_n(&page->data_tail, __ATOMIC_ACQUIRE);
	if (records->size > owner->data_bytes - (page->data_head - tail))
		return false;
	for (size_t i = 0; i < records->size; i++)
		data[(page->data_head + i) % owner->data_bytes] = records->data[i];
	__atomic_store_n(&page->data_head, page->data_head + records->size, __ATOMIC_RELEASE);
	buffer_empty(records);
	return true;
}

void made_up_wake(const struct made_up_event *event)
{
	must(write(event->other_end, "", 1) == 1);
}
