#include "count/count_plan.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <linux/perf_event.h>

#include "base/clock.h"
#include "base/error.h"
#include "count/kernel.h"
#include "machine/event.h"
#include "machine/event_cpus.h"

#define TRIAL_NS 200000

void count_plan_release(struct count_plan *plan)
{
	free(plan->groups);
	free(plan->members);
	free(plan->group_of);
	*plan = (struct count_plan){ 0 };
}

/* Groups that are open on this thread for a moment. */
struct trial {
	const struct event_list *events;
	const struct perf_event_attr *attrs;
	const struct count_kernel *kernel;
	int *fds; /* room for every event */
	size_t count;
};

static void end_trial(struct trial *trial)
{
	while (trial->count > 0)
		trial->kernel->close(trial->fds[--trial->count]);
}

/* Opens the group and leaves it enabled. The leader's descriptor or a negative errno value. */
static int open_group(struct trial *trial, const size_t *members, size_t size)
{
	int leader = -1;
	for (size_t i = 0; i < size; i++) {
		struct perf_event_attr attr = trial->attrs[members[i]];
		attr.disabled = attr.enable_on_exec = attr.inherit = attr.inherit_thread = 0;
		attr.pinned &= leader < 0; /* a member is as pinned as its leader */
		attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
		int fd = trial->kernel->open(&attr, 0, -1, leader, 0);
		if (fd < 0)
			return fd;
		trial->fds[trial->count++] = fd;
		if (i == 0)
			leader = fd;
	}
	return leader;
}

static bool counted_all_the_time(const struct trial *trial, int leader)
{
	uint64_t now[3] = { 0 };
	return count_kernel_read(trial->kernel, leader, now, sizeof(now)) == sizeof(now) &&
	       now[2] > 0 && now[2] == now[1];
}

static void count_for_a_moment(void)
{
	uint64_t end = clock_monotonic_ns() + TRIAL_NS;
	while (clock_monotonic_ns() < end)
		;
}

/* 0; -EBUSY when it opens and is not on the PMU all the time; or the negative errno value. */
static int try_group(struct trial *trial, const size_t *members, size_t size)
{
	const struct event *event = &trial->events->events[members[0]];
	cpu_set_t before;
	if (!event_cpus_go(event, &before))
		return -EBUSY;
	int leader = open_group(trial, members, size);
	int status = leader < 0 ? leader : 0;
	if (!status) {
		count_for_a_moment();
		if (!counted_all_the_time(trial, leader))
			status = -EBUSY;
	}
	end_trial(trial);
	event_cpus_come_back(event, &before);
	return status;
}

static bool is_of_cores(const struct event *event)
{
	return !event->uncore && event->kind != EVENT_SOFTWARE && event->pmu &&
	       strcmp(event->pmu, "software") != 0;
}

/* A single event, which may be put where it fits. */
static bool stands_alone(const struct event_list *events, size_t event)
{
	return events->events[event].leader == event && event_list_group_size(events, event) == 1;
}

static bool may_join(const struct event *event, const struct event *leader)
{
	if (event->kind == EVENT_SOFTWARE && leader->kind == EVENT_SOFTWARE)
		return true;
	return is_of_cores(event) && is_of_cores(leader) && strcmp(event->pmu, leader->pmu) == 0;
}

static void append(struct count_plan *plan, size_t *used, size_t event)
{
	struct count_group *group = &plan->groups[plan->group_count - 1];
	plan->members[(*used)++] = event;
	plan->group_of[event] = plan->group_count - 1;
	group->size++;
}

static void begin_group(struct count_plan *plan, size_t used)
{
	plan->groups[plan->group_count++] = (struct count_group){ .first = used };
}

/* Whether the event, added to the plan's last group, still fits. */
static bool fits(struct trial *trial, struct count_plan *plan, size_t used, size_t event)
{
	const struct count_group *group = &plan->groups[plan->group_count - 1];
	const struct event *events = trial->events->events;
	const struct event *leader = &events[plan->members[group->first]];
	if (group->size == EVENT_GROUP_LIMIT || !may_join(&events[event], leader))
		return false;
	if (leader->kind == EVENT_SOFTWARE)
		return true;
	plan->members[used] = event; /* behind the group's own */
	return try_group(trial, plan->members + group->first, group->size + 1) == 0;
}

static bool opens(struct trial *trial, size_t event)
{
	bool opened = open_group(trial, &event, 1) >= 0;
	end_trial(trial);
	return opened;
}

/*
 * Single events that begin a group draw those after them that may join it: cycles, page-faults,
 * instructions become two groups.
 */
static void gather(struct trial *trial, struct count_plan *plan, size_t *used, size_t first,
		   bool *placed)
{
	begin_group(plan, *used);
	append(plan, used, first);
	placed[first] = true;
	if (!opens(trial, first))
		return;
	for (size_t i = first + 1; i < trial->events->count; i++) {
		if (placed[i] || !stands_alone(trial->events, i) || !opens(trial, i))
			continue;
		if (fits(trial, plan, *used, i)) {
			append(plan, used, i);
			placed[i] = true;
		}
	}
}

static void form_groups(struct trial *trial, struct count_plan *plan, bool *placed)
{
	size_t used = 0;
	for (size_t i = 0; i < trial->events->count; i++) {
		if (placed[i])
			continue;
		if (stands_alone(trial->events, i)) {
			gather(trial, plan, &used, i, placed);
			continue;
		}
		begin_group(plan, used);
		for (size_t n = event_list_group_size(trial->events, i), k = 0; k < n; k++) {
			append(plan, &used, i + k);
			placed[i + k] = true;
		}
	}
}

static const struct event *leader_of(const struct trial *trial, const struct count_plan *plan,
				     size_t group)
{
	return &trial->events->events[plan->members[plan->groups[group].first]];
}

/* All groups of one PMU, that of group `first`, at once; what does not open stands outside. */
static int check_pmu(struct trial *trial, const struct count_plan *plan, size_t first, int *leaders,
		     bool *checked, struct error *err)
{
	const struct event *event = leader_of(trial, plan, first);
	cpu_set_t before;
	int status = 0;
	if (!event_cpus_go(event, &before))
		return 0;
	for (size_t g = first; g < plan->group_count; g++) {
		leaders[g] = -1;
		if (!is_of_cores(leader_of(trial, plan, g)) ||
		    strcmp(leader_of(trial, plan, g)->pmu, event->pmu) != 0)
			continue;
		leaders[g] = open_group(trial, plan->members + plan->groups[g].first,
					plan->groups[g].size);
		checked[g] = true;
	}
	count_for_a_moment();
	for (size_t g = first; g < plan->group_count && !status; g++)
		if (leaders[g] >= 0 && !counted_all_the_time(trial, leaders[g]))
			status = error_set(err, -EBUSY,
					   "'%s' does not fit the PMU beside the events before it: "
					   "too few of its counters are free",
					   leader_of(trial, plan, g)->name);
	end_trial(trial);
	event_cpus_come_back(event, &before);
	return status;
}

static int check_all_fit(struct trial *trial, const struct count_plan *plan, struct error *err)
{
	int *leaders = calloc(plan->group_count + 1, sizeof(*leaders));
	bool *checked = calloc(plan->group_count + 1, sizeof(*checked));
	int status = 0;
	if (!leaders || !checked)
		status = error_set(err, -ENOMEM, "out of memory while grouping events");
	for (size_t g = 0; g < plan->group_count && !status; g++)
		if (!checked[g] && is_of_cores(leader_of(trial, plan, g)))
			status = check_pmu(trial, plan, g, leaders, checked, err);
	free(leaders);
	free(checked);
	return status;
}

static void find_shared(const struct event_list *events, struct count_plan *plan)
{
	for (size_t g = 0; g < plan->group_count; g++) {
		const struct event *leader = &events->events[plan->members[plan->groups[g].first]];
		for (size_t h = 0; h < plan->group_count && is_of_cores(leader); h++) {
			const struct event *other =
				&events->events[plan->members[plan->groups[h].first]];
			if (h != g && is_of_cores(other) && strcmp(other->pmu, leader->pmu) == 0)
				plan->groups[g].shared = true;
		}
	}
}

int count_plan_make(const struct event_list *events, const struct perf_event_attr *attrs,
		    const struct count_kernel *kernel, bool never_multiplex,
		    struct count_plan *plan, struct error *err)
{
	size_t count = events->count ? events->count : 1;
	*plan = (struct count_plan){
		.groups = calloc(count, sizeof(*plan->groups)),
		.members = calloc(count + 1, sizeof(*plan->members)),
		.group_of = calloc(count, sizeof(*plan->group_of)),
	};
	bool *placed = calloc(count, sizeof(*placed));
	struct trial trial = {
		.events = events,
		.attrs = attrs,
		.kernel = kernel,
		.fds = calloc(count, sizeof(*trial.fds)),
	};
	int status = 0;
	if (!plan->groups || !plan->members || !plan->group_of || !placed || !trial.fds) {
		status = error_set(err, -ENOMEM, "out of memory while grouping events");
	} else {
		form_groups(&trial, plan, placed);
		find_shared(events, plan);
		if (never_multiplex)
			status = check_all_fit(&trial, plan, err);
	}
	free(placed);
	free(trial.fds);
	if (status)
		count_plan_release(plan);
	return status;
}
