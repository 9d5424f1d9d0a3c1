#include "collect/counters_private.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "advice/perf_explain.h"
#include "base/array.h"
#include "base/error.h"
#include "bpf/sample_extra.h"
#include "bpf/sample_table.h"
#include "collect/edge_helper.h"
#include "collect/perf_limits.h"
#include "collect/task_open.h"
#include "machine/event.h"
#include "machine/perf_open.h"

#define IDENTITY_FIELDS (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME)
#define SMALLEST_RING	4 /* pages */

static void set_layout(struct perf_layout *layout, const struct perf_event_attr *attr)
{
	*layout = (struct perf_layout){ .sample_type = attr->sample_type,
					.read_format = attr->read_format,
					.branch_sample_type = attr->branch_sample_type,
					.regs_user = attr->sample_regs_user,
					.sample_id_all = attr->sample_id_all };
}

/* Sets what all events of a recording have in common, so that one ring can hold their records. */
static void set_common(struct perf_event_attr *attr, const struct counters *counters, size_t pages)
{
	attr->size = sizeof(*attr);
	attr->sample_type |= IDENTITY_FIELDS;
	attr->sample_id_all = 1;
	attr->use_clockid = 1;
	attr->clockid = CLOCK_MONOTONIC;
	attr->watermark = 1;
	attr->wakeup_watermark = (uint32_t)(pages * (size_t)sysconf(_SC_PAGESIZE) / 2);
	attr->inherit = counters->options.inherit;
	if (counters->reads_lost)
		attr->read_format |= PERF_FORMAT_LOST;
}

void counters_ask_for_branches(struct perf_event_attr *attr)
{
	attr->sample_type |= PERF_SAMPLE_BRANCH_STACK;
	attr->branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_CALL_STACK |
				   PERF_SAMPLE_BRANCH_NO_FLAGS | PERF_SAMPLE_BRANCH_NO_CYCLES;
}

void counters_ask_for_user(const struct counters_options *options, const struct sampler *sampler,
			   struct perf_event_attr *attr)
{
	bool rules = sampler->stacks && options->stacks == COLLECT_STACKS_RULES;
	if (sampler->stacks)
		attr->sample_type |= PERF_SAMPLE_CALLCHAIN;
	if (sampler->stacks && options->stacks == COLLECT_STACKS_BRANCHES)
		counters_ask_for_branches(attr);
	attr->exclude_callchain_user = rules || attr->branch_sample_type;
	rules = rules && !sampler->walked;
	if (!rules && !sampler->edges)
		return;
	attr->sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	attr->sample_regs_user = options->user_registers;
	if (sampler->edges)
		attr->sample_regs_user |= options->edge_registers;
	attr->sample_stack_user =
		rules ? options->stack_bytes : interpret_stack_bytes(edge_isa());
}

void counters_prepare_sampler(struct counters *counters, struct sampler *sampler, size_t index)
{
	struct perf_event_attr *attr = &sampler->attr;
	bool leads = sampler->leader == index;
	sampler->multiplexed = 1;
	attr->sample_type = PERF_SAMPLE_IP;
	attr->read_format =
		PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING | PERF_FORMAT_ID;
	if (counters->samplers[sampler->leader].group_size > 1) {
		attr->read_format |= PERF_FORMAT_GROUP;
		attr->sample_type |= PERF_SAMPLE_READ;
	}
	counters_ask_for_user(&counters->options, sampler, attr);
	set_common(attr, counters, counters->options.sample_pages);
	if (sampler->clock)
		attr->exclude_idle = 1;
	attr->disabled = leads;
	attr->enable_on_exec = leads && counters->options.enable_on_exec;
	if (!sampler->sampled) {
		attr->freq = 0;
		attr->sample_period = 0;
	} else if (sampler->policy == PERIOD_FREQUENCY && counters->options.inherit) {
		attr->freq = 1;
		attr->sample_freq = (uint64_t)sampler->frequency_hz;
	} else {
		attr->freq = 0;
		attr->sample_period = sampler->mean_period;
	}
	set_layout(&sampler->layout, attr);
}

/* Makes `fd` write into the ring; the first one of a ring brings the memory. */
static int share_ring(struct counters *counters, struct ring *ring, int fd, struct error *err)
{
	if (ring->memory) {
		if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd) == 0)
			return 0;
		return error_set(err, -errno, "cannot share a perf ring on CPU %d: %s",
				 counters->cpus[ring->cpu_slot], strerror(errno));
	}
	size_t *pages = ring->sideband ? &counters->options.sideband_pages
				       : &counters->options.sample_pages;
	int ret;
	/* -EPERM: past the memory that this user may lock. Later rings get the smaller size too. */
	while ((ret = ring_map(ring, fd, *pages)) == -EPERM && *pages > SMALLEST_RING)
		*pages /= 2;
	if (ret == -EPERM)
		return error_set(err, ret,
				 "cannot map a perf ring of %zu pages on CPU %d: this user's other "
				 "recordings hold what his rings may have; end one, or raise "
				 "kernel.perf_event_mlock_kb (%" PRIu64 " now) or ulimit -l",
				 *pages, counters->cpus[ring->cpu_slot], perf_limit_ring_kb());
	if (ret < 0)
		return error_set(err, ret, "cannot map a perf ring of %zu pages on CPU %d: %s",
				 *pages, counters->cpus[ring->cpu_slot], strerror(-ret));
	return 0;
}

static int attach_ring(struct counters *counters, struct ring *ring, int fd, struct error *err)
{
	int ret = share_ring(counters, ring, fd, err);
	if (ret < 0)
		return ret;
	struct ring_watch *watch = ring->sideband ? &counters->sideband_watch : &counters->watch;
	ret = ring_watch_add(watch, ring->cpu_slot, fd);
	return ret < 0 ? error_set(err, ret, "cannot poll a perf event: %s", strerror(-ret)) : 0;
}

/* Closes a descriptor, unless others write into the ring by it (PERF_EVENT_IOC_SET_OUTPUT). */
static void give_up(struct counters *counters, struct ring *ring, int fd)
{
	if (fd == ring->fd) {
		ring->fd_orphaned = true;
		return;
	}
	ring_watch_remove(ring->sideband ? &counters->sideband_watch : &counters->watch, fd);
	close(fd);
}

/* The counter of the same event on the same CPU, from before that went offline. Its place is used
 * again, so that records with its old identifier find the same lane. */
static struct counter *find_gone(struct counters *counters, const struct counter *counter)
{
	for (size_t i = 0; i < counters->count; i++) {
		struct counter *other = &counters->list[i];
		if (other->gone && other->sampler == counter->sampler &&
		    other->slot == counter->slot && other->task == counter->task)
			return other;
	}
	return NULL;
}

static int remember(struct counters *counters, const struct counter *counter, struct error *err)
{
	struct counter *gone =
		counters->absences[counter->slot].away ? find_gone(counters, counter) : NULL;
	if (gone) {
		if (number_map_put(&counters->by_id, counter->id,
				   (void *)(uintptr_t)(gone - counters->list + 1)) < 0)
			return error_set(err, -ENOMEM, "out of memory opening events");
		give_up(counters, counters_ring(counters, counter->slot, false), gone->fd);
		*gone = *counter;
		return 0;
	}
	int ret = array_reserve(&counters->list, &counters->capacity, counters->count,
				sizeof(*counters->list));
	if (ret == 0)
		ret = number_map_put(&counters->by_id, counter->id,
				     (void *)(uintptr_t)(counters->count + 1));
	if (ret < 0)
		return error_set(err, ret, "out of memory opening events");
	counters->list[counters->count++] = *counter;
	return 0;
}

/* Opens the event whose records are attached to the samples of a CPU, and go into the same ring.
 * The ring must be mapped. */
static int open_output(struct counters *counters, size_t slot)
{
	struct ring *ring = counters_ring(counters, slot, false);
	int cpu = counters->cpus[slot];
	struct perf_event_attr attr = { .sample_type = PERF_SAMPLE_IP };
	sample_extra_output_attr(&attr);
	set_common(&attr, counters, counters->options.sample_pages);
	attr.inherit = 0;
	set_layout(&counters->output_layout, &attr);
	int fd = perf_open(&attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	int ret = fd < 0 ? fd : 0;
	if (ret == 0 && (ioctl(fd, PERF_EVENT_IOC_ID, &ring->attached_id) ||
			 ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd)))
		ret = -errno;
	if (ret == 0 && counters->options.memory)
		ret = sample_extra_set_output(counters->options.memory, cpu, fd);
	if (ret == 0 && counters->options.walker)
		ret = sample_extra_set_output(counters->options.walker, cpu, fd);
	if (ret == 0) {
		counters->output_fds[slot] = fd;
		return 0;
	}
	if (fd >= 0)
		close(fd);
	ring->attached_id = 0;
	return ret;
}

/* Without what is added the samples are still worth having: a failure is only noted. */
static void attach_extra(struct counters *counters, size_t slot, struct sampler *sampler, int fd)
{
	const struct sample_extra *extra =
		sampler->memory ? counters->options.memory : counters->options.walker;
	int ret = counters->output_fds[slot] < 0 ? open_output(counters, slot) : 0;
	if (ret == 0)
		ret = sample_extra_attach(extra, fd);
	if (ret == 0)
		return;
	if (sampler->memory)
		counters->memory_refusal = ret;
	else
		counters->walker_refusal = ret;
	sampler->memory = false;
}

static bool refused_kernel(const struct perf_event_attr *attr, int code)
{
	return (code == -EACCES || code == -EPERM) && !attr->exclude_kernel;
}

/* Opens one event as it was asked for, else with less: lower precision, user code alone. */
static int open_one(struct counters *counters, struct sampler *sampler, pid_t task, int cpu,
		    int group_fd, unsigned long flags)
{
	struct task_patience *patience = &counters->patience;
	int fd = task_open(&sampler->attr, task, cpu, group_fd, flags, patience);
	while (fd < 0 && sampler->event->max_precise && sampler->attr.precise_ip &&
	       (fd == -EINVAL || fd == -EOPNOTSUPP || fd == -ENOENT)) {
		sampler->attr.precise_ip--;
		fd = task_open(&sampler->attr, task, cpu, group_fd, flags, patience);
	}
	if (fd < 0 && refused_kernel(&sampler->attr, fd) && !sampler->attr.exclude_user) {
		struct perf_event_attr user = sampler->attr;
		user.exclude_kernel = 1;
		user.exclude_hv = 1;
		int user_fd = task_open(&user, task, cpu, group_fd, flags, patience);
		if (user_fd >= 0) {
			sampler->attr = user;
			counters->kernel_dropped = true;
			return user_fd;
		}
	}
	return fd;
}

/* Explains why waiting for the task's execve() was given up. False: that was not the reason. */
static bool explain_task(pid_t task, int code, struct error *err)
{
	if (code == -ETIMEDOUT)
		error_set(
			err, code,
			"cannot watch task %d: the kernel waits for the end of an execve() of its, "
			"which does not come",
			task);
	else if (code == -ECANCELED)
		error_set(err, code, "asked to end before task %d could be watched", task);
	return code == -ETIMEDOUT || code == -ECANCELED;
}

static int attach_table(struct counters *counters, const struct sampler *sampler, size_t index,
			int fd, struct error *err)
{
	if (array_reserve(&counters->links, &counters->link_capacity, counters->link_count,
			  sizeof(*counters->links)) < 0)
		return error_set(err, -ENOMEM, "out of memory opening events");
	int link = sample_table_attach(counters->options.table, fd, (unsigned)index);
	if (link < 0)
		return error_set(err, link, "cannot count samples of '%s' in the kernel: %s",
				 sampler->name, strerror(-link));
	counters->links[counters->link_count++] = link;
	return 0;
}

static int open_counter(struct counters *counters, size_t index, size_t slot, pid_t task,
			int *group_fd, unsigned long flags, struct error *err)
{
	struct sampler *sampler = &counters->samplers[index];
	int cpu = counters->cpus[slot];
	int fd = open_one(counters, sampler, task, cpu, sampler->leader == index ? -1 : *group_fd,
			  flags | PERF_FLAG_FD_CLOEXEC);
	if (fd == -ESRCH || (fd < 0 && explain_task(task, fd, err)))
		return fd;
	if (fd < 0) {
		char cause[512];
		perf_open_explain(sampler->event, fd, task, cpu, cause, sizeof(cause));
		return error_set(err, fd, "cannot sample '%s' on CPU %d: %s", sampler->name, cpu,
				 cause);
	}
	if (sampler->leader == index)
		*group_fd = fd;
	struct counter counter = {
		.fd = fd, .sampler = (uint32_t)index, .slot = (uint32_t)slot, .task = task
	};
	int ret = 0;
	if (ioctl(fd, PERF_EVENT_IOC_ID, &counter.id))
		ret = error_set(err, -errno, "cannot tell the number of '%s': %s", sampler->name,
				strerror(errno));
	if (ret == 0 && sampler->sampled && counters_in_table(counters, sampler))
		ret = attach_table(counters, sampler, index, fd, err);
	else if (ret == 0 && sampler->sampled)
		ret = attach_ring(counters, counters_ring(counters, slot, false), fd, err);
	if (ret == 0 && (sampler->memory || sampler->walked))
		attach_extra(counters, slot, sampler, fd);
	if (ret == 0)
		ret = remember(counters, &counter, err);
	if (ret < 0)
		close(fd);
	return ret;
}

static struct perf_event_attr sideband_attr(const struct counters *counters)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.exclude_kernel = counters->options.user_sideband || counters->kernel_dropped,
		.exclude_hv = 1,
	};
	attr.ksymbol = !attr.exclude_kernel && counters->options.features->ksymbol == FACT_YES;
	set_common(&attr, counters, counters->options.sideband_pages);
	/* Wakes at once: a mapped file must be opened before it is deleted or its process ends. */
	attr.wakeup_watermark = 1;
	return attr;
}

/*
 * Mappings come with the inode of their file, not its build-id: an event with
 * attr.build_id would spoil the records of every other user of perf events on
 * this machine (docs/methods.md, "Mappings").
 */
static int open_sideband(struct counters *counters, size_t slot, pid_t task, struct error *err)
{
	struct perf_event_attr attr = sideband_attr(counters);
	int cpu = counters->cpus[slot];
	int fd = task_open(&attr, task, cpu, -1, PERF_FLAG_FD_CLOEXEC, &counters->patience);
	if (fd == -ESRCH || (fd < 0 && explain_task(task, fd, err)))
		return fd;
	if (fd < 0)
		return error_set(err, fd, "cannot watch processes on CPU %d: %s", cpu,
				 strerror(-fd));
	set_layout(&counters->sideband_layout, &attr);
	counters->sideband_layout.never_build_id = true;
	int ret = attach_ring(counters, counters_ring(counters, slot, true), fd, err);
	if (ret == 0 && counters->absences[slot].away) {
		counters->sideband_lost +=
			counters->reads_lost ? counters_lost_of(counters->sideband_fds[slot]) : 0;
		give_up(counters, counters_ring(counters, slot, true),
			counters->sideband_fds[slot]);
		counters->sideband_fds[slot] = fd;
		return 0;
	}
	if (ret == 0 && array_reserve(&counters->sideband_fds, &counters->sideband_capacity,
				      counters->sideband_count, sizeof(int)) < 0)
		ret = error_set(err, -ENOMEM, "out of memory opening events");
	if (ret < 0) {
		close(fd);
		return ret;
	}
	counters->sideband_fds[counters->sideband_count++] = fd;
	return 0;
}

/* Events that are counted in the kernel have no ring for what it says of them: that they come too
 * fast, and were stopped for a while. It is told among the news about processes. */
static void hear_of_throttling(struct counters *counters, size_t slot)
{
	int fd = counters_ring(counters, slot, true)->fd;
	for (size_t i = 0; counters->options.table && i < counters->count; i++) {
		const struct counter *counter = &counters->list[i];
		struct sampler *sampler = &counters->samplers[counter->sampler];
		if (counter->slot == slot && sampler->sampled &&
		    counters_in_table(counters, sampler) &&
		    ioctl(counter->fd, PERF_EVENT_IOC_SET_OUTPUT, fd) != 0)
			sampler->throttles_silently = true;
	}
}

int counters_open_slot(struct counters *counters, size_t slot, pid_t task, unsigned long flags,
		       struct error *err)
{
	int group_fd = -1;
	for (size_t i = 0; i < counters->sampler_count; i++) {
		const struct event *event = counters->samplers[i].event;
		if (event->has_cpus && !cpu_set_has(&event->cpus, (size_t)counters->cpus[slot]))
			continue;
		int ret = open_counter(counters, i, slot, task, &group_fd, flags, err);
		if (ret < 0)
			return ret;
	}
	/* With a cgroup the kernel would write no mappings before a task of it runs: watch all. */
	pid_t watched = flags & PERF_FLAG_PID_CGROUP ? -1 : task;
	int ret = open_sideband(counters, slot, watched, err);
	if (ret == 0)
		hear_of_throttling(counters, slot);
	return ret;
}

int counters_open(struct counters *counters, pid_t task, unsigned long flags, struct error *err)
{
	counters->watched = task;
	counters->watched_flags = flags;
	for (size_t slot = 0; slot < counters->cpu_count; slot++) {
		int ret = counters_open_slot(counters, slot, task, flags, err);
		if (ret < 0)
			return ret;
	}
	return 0;
}
