#include "collect/descendants.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "collect/proc_status.h"

#define STAT_LIMIT	 4096
#define PROCESSES_A_LOOK 64 /* how often the watch is looked at */

void descendants_release(struct descendants *descendants)
{
	free(descendants->list);
	*descendants = (struct descendants){ 0 };
}

static int compare(const void *left, const void *right)
{
	pid_t a = ((const struct descendant *)left)->pid;
	pid_t b = ((const struct descendant *)right)->pid;
	return (a > b) - (a < b);
}

static struct descendant *find(const struct descendants *descendants, pid_t pid)
{
	struct descendant wanted = { .pid = pid };
	return descendants->count ? bsearch(&wanted, descendants->list, descendants->count,
					    sizeof(wanted), compare)
				  : NULL;
}

const struct descendant *descendants_find(const struct descendants *descendants, pid_t pid)
{
	return find(descendants, pid);
}

static void set_stat(struct descendant *one, const struct proc_stat *stat)
{
	*one = (struct descendant){
		.pid = (pid_t)stat->pid,
		.parent = (pid_t)stat->parent,
		.start = stat->start_ticks,
		.ticks = stat->user_ticks + stat->system_ticks,
		.waited_ticks = stat->children_user_ticks + stat->children_system_ticks,
		.user_ticks = stat->user_ticks,
		.waited_user_ticks = stat->children_user_ticks,
	};
	snprintf(one->comm, sizeof(one->comm), "%.*s", (int)stat->name.size,
		 (const char *)stat->name.data);
}

int descendants_add(struct descendants *descendants, const struct proc_stat *stat)
{
	int ret = array_reserve(&descendants->list, &descendants->capacity, descendants->count,
				sizeof(*descendants->list));
	if (ret == 0)
		set_stat(&descendants->list[descendants->count++], stat);
	return ret;
}

/* In passes, each of which marks the children of who is marked. Following parents upwards instead
 * might not end: where numbers are used again, they may form a circle. */
void descendants_order(struct descendants *descendants, const pid_t *roots, size_t root_count)
{
	qsort(descendants->list, descendants->count, sizeof(*descendants->list), compare);
	for (size_t i = 0; i < root_count; i++) {
		struct descendant *root = find(descendants, roots[i]);
		if (root)
			root->root = true;
	}
	for (bool more = true; more;) {
		more = false;
		for (size_t i = 0; i < descendants->count; i++) {
			struct descendant *one = &descendants->list[i];
			const struct descendant *parent = find(descendants, one->parent);
			if (one->root || one->below || !parent || !(parent->root || parent->below))
				continue;
			one->below = true;
			more = true;
		}
	}
}

static void close_directory(DIR **directory)
{
	if (*directory)
		closedir(*directory);
}

/* Reads who is whose child, from files of /proc that no process can block. */
static int read_parents(struct descendants *descendants, const struct helper_watch *watch)
{
	CLEANUP(close_directory) DIR *directory = opendir("/proc");
	if (!directory)
		return -errno;
	for (struct dirent *entry; (entry = readdir(directory));) {
		struct proc_status status;
		if (!isdigit((unsigned char)entry->d_name[0]) ||
		    proc_status_read((uint32_t)strtoul(entry->d_name, NULL, 10), &status) < 0)
			continue;
		bool looks = watch && watch->look && descendants->count % PROCESSES_A_LOOK == 0;
		int ret = looks ? watch->look(watch->context) : 0;
		if (ret < 0)
			return ret;
		const struct proc_stat parent = { .pid = status.pid, .parent = status.parent };
		ret = descendants_add(descendants, &parent);
		if (ret < 0)
			return ret;
	}
	return 0;
}

/* Reads the times of roots and processes below, and removes those that have ended since. */
static int read_times(struct descendants *descendants, const struct proc_ask *ask)
{
	CLEANUP(buffer_release) struct buffer text = { 0 };
	size_t kept = 0;
	for (size_t i = 0; i < descendants->count; i++) {
		struct descendant *one = &descendants->list[kept];
		struct proc_stat stat;
		*one = descendants->list[i];
		kept++;
		if (!one->root && !one->below)
			continue;
		buffer_empty(&text);
		int ret = proc_ask(ask, NULL, (uint32_t)one->pid, 0, READER_PROCESS_STAT,
				   STAT_LIMIT, &text);
		if (ret == -ENOMEM)
			return ret;
		if (ret == 0 && proc_stat_parse((struct span){ text.data, text.size }, &stat))
			set_stat(one, &stat);
		else if (ret == -ENOENT || ret == -ESRCH)
			kept--;
		else
			descendants->incomplete = true;
	}
	descendants->count = kept;
	return 0;
}

int descendants_list(struct descendants *descendants, const pid_t *roots, size_t root_count,
		     const struct helper_watch *watch)
{
	int ret = read_parents(descendants, watch);
	if (ret == 0)
		descendants_order(descendants, roots, root_count);
	return ret;
}

int descendants_read(struct descendants *descendants, const pid_t *roots, size_t root_count,
		     const struct descendants *before, const struct proc_ask *ask)
{
	int ret = read_parents(descendants, ask->watch);
	if (ret < 0)
		return ret;
	descendants_order(descendants, roots, root_count);
	/* Processes that were below count as roots here, whoever adopted them. */
	for (size_t i = 0; before && i < before->count; i++) {
		struct descendant *one = before->list[i].root || before->list[i].below
						 ? find(descendants, before->list[i].pid)
						 : NULL;
		if (one)
			one->root = true;
	}
	descendants_order(descendants, NULL, 0);
	ret = read_times(descendants, ask);
	for (size_t i = 0; i < descendants->count; i++)
		descendants->list[i].root = descendants->list[i].below = false;
	descendants_order(descendants, roots, root_count);
	return ret;
}

static uint64_t difference(uint64_t after, uint64_t before)
{
	return after > before ? after - before : 0;
}

/*
 * A process's own time and that of children it waited for. The time of a process that ended in
 * between has moved from itself to its parent, so that sums over all agree, unless the parent is
 * not below: is_left().
 */
static uint64_t all_ticks(const struct descendant *one)
{
	return one->ticks + one->waited_ticks;
}

static bool is_same(const struct descendant *one, const struct descendant *other)
{
	return one && other && one->start == other->start;
}

/* Whether the time of a process that was below is still counted: in itself, or one above it that
 * was below. */
static bool is_left(const struct descendants *before, const struct descendants *after,
		    const struct descendant *one)
{
	for (size_t steps = 0; one && one->below && steps <= before->count; steps++) {
		if (is_same(find(after, one->pid), one))
			return true;
		one = find(before, one->parent);
	}
	return false;
}

/* Whether a new process is below one that was below already, by its parents now. */
static bool is_new_below(const struct descendants *before, const struct descendants *after,
			 const struct descendant *one)
{
	const struct descendant *parent = one;
	for (size_t steps = 0; steps <= after->count; steps++) {
		parent = find(after, parent->parent);
		const struct descendant *known = parent ? find(before, parent->pid) : NULL;
		if (!parent || parent->root)
			return false;
		if (is_same(known, parent) && known->below)
			return true;
	}
	return false;
}

struct descendants_use descendants_compare(const struct descendants *before,
					   const struct descendants *after)
{
	struct descendants_use use = { 0 };
	uint64_t then = 0;
	uint64_t now = 0;
	for (size_t i = 0; i < before->count; i++) {
		const struct descendant *one = &before->list[i];
		use.processes += one->below;
		then += is_left(before, after, one) ? all_ticks(one) : 0;
	}
	for (size_t i = 0; i < after->count; i++) {
		const struct descendant *one = &after->list[i];
		const struct descendant *known = find(before, one->pid);
		bool same = is_same(known, one);
		if (same && known->root)
			use.root_ticks += difference(one->ticks, known->ticks);
		bool was_below = same && known->below;
		if (was_below || (!same && is_new_below(before, after, one)))
			now += all_ticks(one);
		uint64_t ticks = was_below ? difference(all_ticks(one), all_ticks(known)) : 0;
		if (ticks > use.busiest_ticks) {
			use.busiest = *one;
			use.busiest_ticks = ticks;
		}
	}
	use.below_ticks = difference(now, then);
	return use;
}

void descendants_describe(const struct descendants_use *use, uint64_t samples,
			  uint64_t ticks_per_second, char *text, size_t size)
{
	text[0] = 0;
	if (!use->below_ticks || (samples && use->below_ticks <= use->root_ticks))
		return;
	double seconds = 1 / (double)ticks_per_second;
	snprintf(text, size,
		 "what was asked for used %.2f s of CPU time itself, %zu process%s below it, which "
		 "ran already, used %.2f s ('%s', process %d, %.2f s): --children takes them too",
		 (double)use->root_ticks * seconds, use->processes, use->processes == 1 ? "" : "es",
		 (double)use->below_ticks * seconds, use->busiest.comm, use->busiest.pid,
		 (double)use->busiest_ticks * seconds);
}

static bool was_watched(const struct descendant *one, bool children)
{
	return one->root || (children && one->below);
}

/* Whether a process is watched, or was started by one that is, by its parents now. */
static bool is_watched(const struct descendants *before, const struct descendants *after,
		       const struct descendant *one, bool children)
{
	for (size_t steps = 0; one && steps <= after->count; steps++) {
		const struct descendant *known = find(before, one->pid);
		if (is_same(known, one))
			return was_watched(known, children);
		one = find(after, one->parent);
	}
	return false;
}

/* The process that the time of an ended one was added to: the nearest above it that is there; or
 * NULL. */
static const struct descendant *heir(const struct descendants *before,
				     const struct descendants *after, const struct descendant *one)
{
	for (size_t steps = 0; one && one->below && steps <= before->count; steps++) {
		one = find(before, one->parent);
		if (one && is_same(find(after, one->pid), one))
			return one;
	}
	return NULL;
}

static void add_ticks(struct descendants_time *time, const struct descendant *one)
{
	uint64_t user = one->user_ticks + one->waited_user_ticks;
	time->user_ticks += user;
	time->system_ticks += difference(all_ticks(one), user);
}

bool descendants_watched_time(const struct descendants *before, const struct descendants *after,
			      bool children, struct descendants_time *time)
{
	struct descendants_time then = { 0 };
	struct descendants_time now = { 0 };
	if (before->incomplete || after->incomplete)
		return false;
	for (size_t i = 0; i < before->count; i++) {
		const struct descendant *one = &before->list[i];
		bool counts = was_watched(one, children);
		if (is_same(find(after, one->pid), one)) {
			if (counts)
				add_ticks(&then, one);
			continue;
		}
		if (one->root)
			return false;
		const struct descendant *by = heir(before, after, one);
		if (!by || !was_watched(by, children))
			continue;
		if (!counts)
			return false;
		add_ticks(&then, one);
	}
	for (size_t i = 0; i < after->count; i++)
		if (is_watched(before, after, &after->list[i], children))
			add_ticks(&now, &after->list[i]);
	time->user_ticks = difference(now.user_ticks, then.user_ticks);
	time->system_ticks = difference(now.system_ticks, then.system_ticks);
	return true;
}
