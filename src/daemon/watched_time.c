#include "daemon/watched_time.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "collect/proc_stat.h"
#include "daemon/command.h"
#include "profile/bill.h"
#include "profile/profile.h"

#define STAT_LIMIT 4096

static bool read_thread(const struct proc_ask *ask, pid_t tid, struct watched_ticks *ticks)
{
	CLEANUP(buffer_release) struct buffer text = { 0 };
	struct proc_stat stat;
	if (proc_ask(ask, NULL, (uint32_t)tid, (uint32_t)tid, READER_PROCESS_STAT, STAT_LIMIT,
		     &text) < 0 ||
	    !proc_stat_parse((struct span){ text.data, text.size }, &stat))
		return false;
	*ticks = (struct watched_ticks){ stat.start_ticks, stat.user_ticks, stat.system_ticks };
	return true;
}

static bool begin_threads(struct watched_time *watched, const struct proc_ask *ask)
{
	if (!watched->tid_count)
		return true;
	watched->threads = calloc(watched->tid_count, sizeof(*watched->threads));
	if (!watched->threads)
		return false;
	for (size_t i = 0; i < watched->tid_count; i++)
		if (!read_thread(ask, watched->tids[i], &watched->threads[i]))
			return false;
	return true;
}

/* False also when one has ended since it was opened. */
static bool begin_processes(struct watched_time *watched, const struct proc_ask *ask)
{
	if (!watched->pid_count)
		return true;
	if (descendants_read(&watched->before, watched->pids, watched->pid_count, NULL, ask) < 0)
		return false;
	for (size_t i = 0; i < watched->pid_count; i++)
		if (!descendants_find(&watched->before, watched->pids[i]))
			return false;
	return true;
}

void watched_time_begin(struct watched_time *watched, const struct proc_ask *ask)
{
	watched->start_ns = clock_monotonic_ns();
	watched->begun = (watched->pid_count || watched->tid_count) &&
			 begin_threads(watched, ask) && begin_processes(watched, ask);
}

static uint64_t difference(uint64_t after, uint64_t before)
{
	return after > before ? after - before : 0;
}

/* False when a thread has ended, or its number is another thread's by now. */
static bool end_threads(struct watched_time *watched, const struct proc_ask *ask)
{
	for (size_t i = 0; i < watched->tid_count; i++) {
		const struct watched_ticks *before = &watched->threads[i];
		struct watched_ticks now;
		if (!read_thread(ask, watched->tids[i], &now) ||
		    now.start_ticks != before->start_ticks)
			return false;
		watched->user_ticks += difference(now.user_ticks, before->user_ticks);
		watched->system_ticks += difference(now.system_ticks, before->system_ticks);
	}
	return true;
}

static bool end_processes(struct watched_time *watched, const struct proc_ask *ask)
{
	CLEANUP(descendants_release) struct descendants now = { 0 };
	struct descendants_time time;
	if (!watched->pid_count)
		return true;
	if (descendants_read(&now, watched->pids, watched->pid_count, &watched->before, ask) < 0 ||
	    !descendants_watched_time(&watched->before, &now, watched->children, &time))
		return false;
	watched->user_ticks += time.user_ticks;
	watched->system_ticks += time.system_ticks;
	return true;
}

void watched_time_end(struct watched_time *watched, const struct proc_ask *ask)
{
	watched->known = watched->begun && end_threads(watched, ask) && end_processes(watched, ask);
}

void watched_time_release(struct watched_time *watched)
{
	descendants_release(&watched->before);
	free(watched->threads);
	watched->threads = NULL;
	watched->begun = watched->known = false;
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

int watched_time_add(const struct watched_time *watched, const struct command *command,
		     struct profile *profile)
{
	if (command->pid && command->times_known)
		return add_command(watched, command, profile);
	if (!watched->known)
		return 0;
	uint64_t tick_ns = 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK);
	int ret = add_item(profile, BILL_SAMPLED_USER_NS, watched->user_ticks * tick_ns);
	return ret < 0 ? ret
		       : add_item(profile, BILL_SAMPLED_SYSTEM_NS, watched->system_ticks * tick_ns);
}
