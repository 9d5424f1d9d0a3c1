/* What is counted for events that cannot be counted as they were written, and why. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "count/count_set.h"
#include "count/counter_private.h"
#include "count/kernel.h"
#include "count/refusal.h"
#include "count/sides.h"
#include "count/target_list.h"
#include "machine/event_names.h"

/* Whether task-clock is better than nothing for the event: it counts this thread's cycles. */
static bool has_substitute(const struct event *event)
{
	return event->kind == EVENT_HARDWARE && event->cycles != EVENT_NO_CYCLES;
}

static void substitute(struct event *event)
{
	const struct event_name *clock = software_name_find("task-clock");
	event->attr.type = PERF_TYPE_SOFTWARE;
	event->attr.config = clock->config;
	event->kind = EVENT_SOFTWARE;
	event->cycles = clock->cycles;
	event->clock = true;
	event->unit = clock->unit;
	event->pmu = "software";
	event->core_type = NULL;
	event->has_cpus = false;
}

static bool refused_for_rights(int code)
{
	return code == -EACCES || code == -EPERM;
}

/* 0 or the negative errno value of opening the event by itself, without the kernel if need be. */
static int try_event(const struct event *event, const struct count_kernel *kernel,
		     const struct count_target *target, unsigned flags)
{
	struct perf_event_attr attr = event->attr;
	attr.sample_period = 0;
	attr.freq = 0;
	bool sides = event_has_sides(event) && !attr.exclude_user;
	if (event_is_kernel_only(&attr) && attr.exclude_kernel)
		return -EOPNOTSUPP; /* as count_set_open() */
	for (int user = sides && flags & CULPRIT_USER_ONLY; user < 2; user++) {
		if (user && !attr.exclude_user)
			attr.exclude_kernel = attr.exclude_hv = 1;
		int fd = kernel->open(&attr, target->pid, target->cpu, -1, 0);
		if (fd >= 0)
			kernel->close(fd);
		if (!refused_for_rights(fd) || event->uncore || event_is_kernel_only(&attr))
			return fd < 0 ? fd : 0;
	}
	return -EACCES;
}

/* As culprit_counters_open() says it: what a machine has not, nobody knows there. */
static int public_code(int code)
{
	bool lacking = code == -ENODEV || code == -ENXIO || code == -EOPNOTSUPP;
	return lacking ? -ENOENT : code;
}

/* The event is absent, or something else is counted for it. */
static int give_reason(struct culprit_counters *counters, size_t index, int code, const char *why,
		       struct error *err)
{
	struct counted *counted = &counters->counted[index];
	counted->code = code;
	counted->counted = NULL;
	counted->why = arena_copy_text(&counters->arena, why, strlen(why));
	return counted->why ? 0 : error_set(err, -ENOMEM, "out of memory while opening counters");
}

static int settle_event(struct culprit_counters *counters, const struct count_kernel *kernel,
			struct target_list *targets, const struct culprit_options *options,
			size_t index, struct error *err)
{
	struct event *event = &counters->events.events[index];
	struct counted *counted = &counters->counted[index];
	*counted = (struct counted){ .name = event->name, .counted = event->name };
	int code = try_event(event, kernel, &targets->all[0], options->flags);
	/* of a process, whose first thread may have ended before the others */
	for (; code == -ESRCH && targets->count > 1;
	     code = try_event(event, kernel, &targets->all[0], options->flags))
		target_list_drop_first(targets);
	if (code == 0)
		return 0;
	char why[256];
	refusal_explain(event, &counters->pmus, code, why, sizeof(why));
	if (code == -ESRCH || code == -EMFILE || code == -ENFILE || code == -ENOMEM ||
	    options->flags & CULPRIT_STRICT)
		return error_set(err, public_code(code), "cannot count '%s': %s", event->name, why);
	int status = give_reason(counters, index, code, why, err);
	if (status)
		return status;
	struct event clock = *event;
	substitute(&clock);
	counted->substitute = has_substitute(event) && options->subject != CULPRIT_CPU &&
			      try_event(&clock, kernel, &targets->all[0], options->flags) == 0;
	if (counted->substitute) {
		counted->counted = "task-clock";
		*event = clock;
	}
	return 0;
}

/* Nothing that is counted is an error, with the reason of the first event. */
static int check_any(const struct culprit_counters *counters, struct error *err)
{
	const struct counted *first = &counters->counted[0];
	for (size_t i = 0; i < counters->events.count; i++)
		if (counters->counted[i].counted)
			return 0;
	return error_set(err, refused_for_rights(first->code) ? first->code : -ENOENT,
			 "cannot count '%s': %s", first->name, first->why);
}

int counters_settle(struct culprit_counters *counters, const struct count_kernel *kernel,
		    struct target_list *targets, const struct culprit_options *options,
		    struct error *err)
{
	for (size_t i = 0; i < counters->events.count; i++) {
		int status = settle_event(counters, kernel, targets, options, i, err);
		if (status)
			return status;
	}
	return check_any(counters, err);
}

/* It opened by itself, and not beside the other events of its group. */
static int settle_refused(struct culprit_counters *counters, size_t index, int code,
			  const struct culprit_options *options, struct error *err)
{
	static const char no_room[] = "the PMU has no room for it in its group";
	const struct event *event = &counters->events.events[index];
	char why[256];
	if (code == -EINVAL || code == -ENOSPC)
		code = -EBUSY;
	if (code == -EBUSY)
		memcpy(why, no_room, sizeof(no_room));
	else
		refusal_explain(event, &counters->pmus, code, why, sizeof(why));
	if (options->flags & (CULPRIT_STRICT | CULPRIT_NEVER_MULTIPLEX))
		return error_set(err, public_code(code), "cannot count '%s': %s", event->name, why);
	return give_reason(counters, index, code, why, err);
}

/* There was no right to count what the kernel does for the subject. */
static int settle_user_only(struct culprit_counters *counters, size_t index,
			    const struct culprit_options *options, struct error *err)
{
	const struct event *event = &counters->events.events[index];
	struct counted *counted = &counters->counted[index];
	char rights[160], why[256];
	refusal_explain(event, &counters->pmus, -EACCES, rights, sizeof(rights));
	snprintf(why, sizeof(why), "the kernel is left out: %s", rights);
	if (options->flags & CULPRIT_STRICT)
		return error_set(err, -EACCES, "cannot count '%s': %s", event->name, why);
	int status = give_reason(counters, index, -EACCES, why, err);
	if (status)
		return status;
	size_t room = strlen(event->name) + sizeof(":u");
	char *name = arena_allocate(&counters->arena, room);
	if (!name)
		return error_set(err, -ENOMEM, "out of memory while opening counters");
	snprintf(name, room, "%s", event->name);
	name_user_side(name, room);
	counted->counted = name;
	counted->substitute = true;
	return 0;
}

int counters_settle_opened(struct culprit_counters *counters, const struct culprit_options *options,
			   struct error *err)
{
	for (size_t i = 0; i < counters->events.count; i++) {
		const struct counted *counted = &counters->counted[i];
		int code = count_set_refusal(counters->set, i);
		int status = 0;
		if (!counted->counted)
			continue;
		if (code)
			status = settle_refused(counters, i, code, options, err);
		else if (count_set_is_user_only(counters->set, i) &&
			 !counters->events.events[i].clock)
			status = settle_user_only(counters, i, options, err);
		if (status)
			return status;
	}
	return check_any(counters, err);
}
