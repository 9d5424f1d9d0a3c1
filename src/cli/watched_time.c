#include "cli/watched_time.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/clock.h"
#include "cli/command.h"
#include "collect/process_time.h"
#include "profile/bill.h"
#include "profile/profile.h"

static bool read_task(const struct watched_time *watched, size_t at, struct process_time *time)
{
	bool process = at < watched->pid_count;
	pid_t id = process ? watched->pids[at] : watched->tids[at - watched->pid_count];
	return process_time_read(id, process ? PROCESS_TIME_PROCESS : PROCESS_TIME_THREAD, time) ==
	       0;
}

void watched_time_begin(struct watched_time *watched)
{
	size_t count = watched->pid_count + watched->tid_count;
	watched->start_ns = clock_monotonic_ns();
	if (!count)
		return;
	watched->before = calloc(count, sizeof(*watched->before));
	for (size_t i = 0; watched->before && i < count; i++)
		if (!read_task(watched, i, &watched->before[i]))
			watched_time_release(watched);
}

void watched_time_release(struct watched_time *watched)
{
	free(watched->before);
	watched->before = NULL;
}

static int add_item(struct profile *profile, const char *item, uint64_t amount)
{
	return profile_add_bill(profile, 0, OPTIONAL_ABSENT, item, amount);
}

static int add_command(const struct watched_time *watched, const struct command *command,
		       struct profile *profile)
{
	int ret = add_item(profile, BILL_COMMAND_ELAPSED_NS, command->ended_ns - watched->start_ns);
	if (ret == 0)
		ret = add_item(profile, BILL_COMMAND_USER_NS, command->user_ns);
	if (ret == 0)
		ret = add_item(profile, BILL_COMMAND_SYSTEM_NS, command->system_ns);
	if (ret < 0 || watched->samples == WATCHED_SAMPLES_OTHERS)
		return ret;
	ret = add_item(profile, BILL_SAMPLED_USER_NS, command->user_ns);
	return ret < 0 ? ret : add_item(profile, BILL_SAMPLED_SYSTEM_NS, command->system_ns);
}

/* A number may be another process's by now. */
static bool sum_up(const struct watched_time *watched, struct process_time *sum)
{
	*sum = (struct process_time){ 0 };
	for (size_t i = 0; i < watched->pid_count + watched->tid_count; i++) {
		const struct process_time *before = &watched->before[i];
		struct process_time now;
		if (!read_task(watched, i, &now) || now.start_ticks != before->start_ticks)
			return false;
		sum->user_ns += now.user_ns > before->user_ns ? now.user_ns - before->user_ns : 0;
		sum->system_ns +=
			now.system_ns > before->system_ns ? now.system_ns - before->system_ns : 0;
	}
	return true;
}

int watched_time_add(const struct watched_time *watched, const struct command *command,
		     struct profile *profile)
{
	struct process_time sum;
	if (command->pid && command->times_known)
		return add_command(watched, command, profile);
	if (!watched->before || !sum_up(watched, &sum))
		return 0;
	int ret = add_item(profile, BILL_SAMPLED_USER_NS, sum.user_ns);
	return ret < 0 ? ret : add_item(profile, BILL_SAMPLED_SYSTEM_NS, sum.system_ns);
}
