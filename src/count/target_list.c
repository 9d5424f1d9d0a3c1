#include "count/target_list.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/count_of.h"
#include "base/error.h"
#include "base/number.h"
#include "culprit/counter.h"

/* Of enum culprit_option_flags. */
#define FLAGS_KNOWN 127u

void target_list_release(struct target_list *targets)
{
	free(targets->all);
	*targets = (struct target_list){ 0 };
}

static int add_target(struct target_list *targets, pid_t pid, int cpu)
{
	if (array_reserve(&targets->all, &targets->capacity, targets->count, sizeof(*targets->all)))
		return -ENOMEM;
	targets->all[targets->count++] = (struct count_target){ pid, cpu };
	return 0;
}

static int add_threads(struct target_list *targets, int pid, struct error *err)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	DIR *folder = opendir(path);
	if (!folder && errno == ENOENT)
		return error_set(err, -ESRCH, "there is no process %d, or no /proc", pid);
	if (!folder)
		return error_set(err, -errno, "cannot list the threads of process %d: %s", pid,
				 strerror(errno));
	int status = 0;
	for (struct dirent *entry; !status && (entry = readdir(folder));) {
		uint64_t tid;
		if (number_parse_u64(entry->d_name, &tid) && tid <= INT32_MAX)
			status = add_target(targets, (pid_t)tid, -1);
	}
	closedir(folder);
	if (status)
		return error_set(err, status, "out of memory while opening counters");
	/* it may have ended since its folder was opened */
	return targets->count ? 0 : error_set(err, -ESRCH, "process %d has ended", pid);
}

void target_list_drop_first(struct target_list *targets)
{
	targets->count--;
	memmove(targets->all, targets->all + 1, targets->count * sizeof(*targets->all));
}

int target_options_check(const struct culprit_options *options, struct error *err)
{
	static const uint64_t none[COUNT_OF(options->reserved)];
	if (options->flags & ~FLAGS_KNOWN || memcmp(options->reserved, none, sizeof(none)) != 0)
		return error_set(err, -EINVAL, "options that this library does not know are set");
	return 0;
}

int target_list_fill(struct target_list *targets, const struct culprit_options *options,
		     struct error *err)
{
	int status = target_options_check(options, err);
	if (status)
		return status;
	switch (options->subject) {
	case CULPRIT_THIS_THREAD:
		status = add_target(targets, 0, -1);
		break;
	case CULPRIT_THIS_PROCESS:
		return add_threads(targets, (int)getpid(), err);
	case CULPRIT_PROCESS:
	case CULPRIT_THREAD:
		if (options->id <= 0)
			return error_set(err, -EINVAL, "%d is no process", options->id);
		if (options->subject == CULPRIT_PROCESS)
			return add_threads(targets, options->id, err);
		status = add_target(targets, options->id, -1);
		break;
	case CULPRIT_CPU:
		if (options->id < 0)
			return error_set(err, -EINVAL, "%d is no CPU", options->id);
		status = add_target(targets, -1, options->id);
		break;
	default:
		return error_set(err, -EINVAL, "%d is none of enum culprit_subject",
				 (int)options->subject);
	}
	return status ? error_set(err, status, "out of memory while opening counters") : 0;
}

enum count_inherit target_inherit(const struct culprit_options *options)
{
	if (options->subject != CULPRIT_PROCESS && options->subject != CULPRIT_THIS_PROCESS)
		return COUNT_ALONE;
	return options->flags & CULPRIT_CHILDREN ? COUNT_CHILDREN : COUNT_THREADS;
}
