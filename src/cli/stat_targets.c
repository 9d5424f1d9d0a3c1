#include "cli/stat_targets.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "cli/message.h"
#include "cli/task_list.h"
#include "cli/verbs.h"
#include "machine/machine_root.h"

#define NAME_SIZE 64 /* of a thread: TASK_COMM_LEN is 16 */

/* What is appended to while targets are found. */
struct growing {
	struct stat_targets *targets;
	size_t target_capacity, row_of_capacity, label_capacity, cpus_capacity;
	enum stat_rows rows;
};

static int out_of_memory(void)
{
	message_error("out of memory for what is counted");
	return 1;
}

/* The row of that label; a new one where there is none yet. -1: out of memory. */
static ssize_t row_named(struct growing *growing, const char *label)
{
	struct stat_targets *targets = growing->targets;
	for (size_t i = 0; i < targets->row_count; i++)
		if (!label || (targets->labels[i] && strcmp(targets->labels[i], label) == 0))
			return (ssize_t)i;
	size_t row = targets->row_count;
	if (array_reserve(&targets->labels, &growing->label_capacity, row,
			  sizeof(*targets->labels)) < 0 ||
	    array_reserve(&targets->cpus_of, &growing->cpus_capacity, row,
			  sizeof(*targets->cpus_of)) < 0)
		return -1;
	targets->labels[row] = NULL;
	if (label &&
	    !(targets->labels[row] = arena_copy_text(&targets->arena, label, strlen(label))))
		return -1;
	targets->cpus_of[row] = 0;
	targets->row_count++;
	return (ssize_t)row;
}

/* 0 or the exit status. */
static int add_target(struct growing *growing, pid_t pid, int cpu, const char *label)
{
	struct stat_targets *targets = growing->targets;
	ssize_t row = row_named(growing, growing->rows == STAT_TOGETHER ? NULL : label);
	if (row < 0 ||
	    array_reserve(&targets->list, &growing->target_capacity, targets->count,
			  sizeof(*targets->list)) < 0 ||
	    array_reserve(&targets->row_of, &growing->row_of_capacity, targets->count,
			  sizeof(*targets->row_of)) < 0)
		return out_of_memory();
	targets->list[targets->count] = (struct count_target){ .pid = pid, .cpu = cpu };
	targets->row_of[targets->count++] = (size_t)row;
	if (growing->rows == STAT_PER_CORE)
		targets->cpus_of[row]++;
	return 0;
}

/* "sleep-9505" */
static int add_thread(struct growing *growing, const struct machine_root *root, pid_t tid)
{
	char name[NAME_SIZE] = "", label[NAME_SIZE + 16];
	if (growing->rows == STAT_PER_THREAD)
		root_read_line(root, root_path("proc/%d/comm", tid).text, name, sizeof(name));
	snprintf(label, sizeof(label), "%s-%d", name, tid);
	return add_target(growing, tid, -1, label);
}

/* Threads that are created meanwhile are counted when those that create them were opened before. */
static int add_process(struct growing *growing, const struct machine_root *root, pid_t pid)
{
	DIR *folder = opendir(root_path("/proc/%d/task", pid).text);
	if (!folder) {
		int reason = errno;
		bool gone = kill(pid, 0) < 0 && errno == ESRCH;
		message_error("cannot count process %d: %s%s", pid,
			      gone ? "there is no such process" : strerror(reason),
			      gone ? "" : ": its threads are found in /proc");
		return 1;
	}
	int status = 0;
	for (struct dirent *entry; status == 0 && (entry = readdir(folder));)
		if (isdigit((unsigned char)entry->d_name[0]))
			status = add_thread(growing, root, (pid_t)strtol(entry->d_name, NULL, 10));
	closedir(folder);
	return status;
}

static const char *subject_of_tasks(struct stat_targets *targets)
{
	CLEANUP(buffer_release) struct buffer text = { 0 };
	size_t pids = targets->pid_count;
	for (size_t i = 0; i < targets->task_count; i++) {
		if (i == 0 && pids)
			buffer_append_text(&text, "process id '");
		else if (i == pids)
			buffer_append_text(&text, pids ? "' and thread id '" : "thread id '");
		else
			buffer_append_text(&text, ",");
		buffer_printf(&text, "%d", targets->tasks[i]);
	}
	buffer_append_text(&text, "'");
	return buffer_failed(&text)
		       ? NULL
		       : arena_copy_text(&targets->arena, buffer_text(&text), text.size);
}

/* The CPUs that any of the tasks may run on; unknown where they are of one. */
static void note_allowed(struct stat_targets *targets, const pid_t *tasks, size_t task_count)
{
	size_t size = CPU_ALLOC_SIZE(CPU_SET_LIMIT);
	CLEANUP(free_pointer) cpu_set_t *one = calloc(1, size);
	struct cpu_set all = { 0 };
	for (size_t i = 0; i < task_count; i++) {
		if (!one || sched_getaffinity(tasks[i], size, one) != 0)
			return;
		for (size_t cpu = 0; cpu < CPU_SET_LIMIT; cpu++)
			if (CPU_ISSET_S(cpu, size, one))
				cpu_set_add(&all, cpu);
	}
	targets->allowed = all;
	targets->cpus = (double)cpu_set_count(&all);
}

static int add_tasks(struct growing *growing, const struct machine_root *root,
		     const struct stat_options *options)
{
	struct stat_targets *targets = growing->targets;
	size_t pids = 0, tids = 0;
	targets->tasks = calloc(2 * (size_t)TASK_LIST_MOST, sizeof(*targets->tasks));
	if (!targets->tasks)
		return out_of_memory();
	int status = task_list_parse(&verb_stat, &options->pids, "--pid", targets->tasks, &pids);
	if (status == 0)
		status = task_list_parse(&verb_stat, &options->tids, "--tid", targets->tasks + pids,
					 &tids);
	targets->pid_count = pids;
	targets->task_count = pids + tids;
	for (size_t i = 0; status == 0 && i < pids; i++)
		status = add_process(growing, root, targets->tasks[i]);
	for (size_t i = pids; status == 0 && i < pids + tids; i++)
		status = add_thread(growing, root, targets->tasks[i]);
	if (status)
		return status;
	note_allowed(targets, targets->tasks, targets->task_count);
	targets->subject = subject_of_tasks(targets);
	return targets->subject ? 0 : out_of_memory();
}

/* "S0-D0-C1": socket, die and core, as the kernel numbers them; "CPU3" where it does not say. */
static void name_core(const struct machine_root *root, size_t cpu, char label[NAME_SIZE])
{
	int64_t socket, die, core;
	const char *folder = "sys/devices/system/cpu/cpu";
	snprintf(label, NAME_SIZE, "CPU%zu", cpu);
	if (root_read_i64(root, root_path("%s%zu/topology/core_id", folder, cpu).text, &core) < 0 ||
	    root_read_i64(root, root_path("%s%zu/topology/physical_package_id", folder, cpu).text,
			  &socket) < 0)
		return;
	if (root_read_i64(root, root_path("%s%zu/topology/die_id", folder, cpu).text, &die) < 0)
		die = 0; /* before Linux 5.2 */
	snprintf(label, NAME_SIZE, "S%" PRId64 "-D%" PRId64 "-C%" PRId64, socket, die, core);
}

static int choose_cpus(const struct machine_root *root, const struct stat_options *options,
		       struct cpu_set *chosen)
{
	struct cpu_set online;
	struct error err = { 0 };
	int ret = root_read_cpus(root, "sys/devices/system/cpu/online", &online);
	if (ret < 0) {
		message_error("cannot read which CPUs are online: %s", strerror(-ret));
		return 1;
	}
	*chosen = online;
	if (!options->cpus)
		return 0;
	if (cpu_set_parse(options->cpus, chosen, &err) < 0)
		return options_misuse(&verb_stat, "--cpu: %s", err.text);
	if (cpu_set_empty(chosen))
		return options_misuse(&verb_stat, "--cpu names no CPU");
	for (size_t cpu = cpu_set_next(chosen, 0); cpu < CPU_SET_LIMIT;
	     cpu = cpu_set_next(chosen, cpu + 1))
		if (!cpu_set_has(&online, cpu)) {
			message_error("CPU %zu is not online", cpu);
			return 1;
		}
	return 0;
}

static int add_cpus(struct growing *growing, const struct machine_root *root,
		    const struct stat_options *options)
{
	struct stat_targets *targets = growing->targets;
	struct cpu_set chosen;
	char label[NAME_SIZE];
	int status = choose_cpus(root, options, &chosen);
	for (size_t cpu = cpu_set_next(&chosen, 0); status == 0 && cpu < CPU_SET_LIMIT;
	     cpu = cpu_set_next(&chosen, cpu + 1)) {
		if (growing->rows == STAT_PER_CORE)
			name_core(root, cpu, label);
		else
			snprintf(label, sizeof(label), "CPU%zu", cpu);
		status = add_target(growing, -1, (int)cpu, label);
	}
	if (status)
		return status;
	targets->system_wide = true;
	targets->cpus = (double)targets->count;
	targets->subject = options->cpus
				   ? arena_printf(&targets->arena, "'CPU(s) %s'", options->cpus)
				   : "'system wide'";
	return targets->subject ? 0 : out_of_memory();
}

static int add_command(struct growing *growing, char *const *command)
{
	struct stat_targets *targets = growing->targets;
	CLEANUP(buffer_release) struct buffer text = { 0 };
	buffer_append_text(&text, "'");
	for (size_t i = 0; command[i]; i++)
		buffer_printf(&text, "%s%s", i ? " " : "", command[i]);
	buffer_append_text(&text, "'");
	note_allowed(targets, &(pid_t){ 0 }, 1); /* the command's are ours */
	if (!buffer_failed(&text))
		targets->subject = arena_copy_text(&targets->arena, buffer_text(&text), text.size);
	return targets->subject ? add_target(growing, 0, -1, NULL) : out_of_memory();
}

int stat_targets_make(struct stat_targets *targets, const struct stat_options *options,
		      char *const *command)
{
	CLEANUP(machine_root_close) struct machine_root root = { .fd = -1 };
	struct growing growing = { .targets = targets, .rows = options->rows };
	struct error err = { 0 };
	*targets = (struct stat_targets){ .cpus = NAN };
	if (machine_root_open("/", &root, &err) < 0)
		return message_failure(&err);
	if (options->pids.count || options->tids.count)
		return add_tasks(&growing, &root, options);
	if (options->all_cpus || options->cpus)
		return add_cpus(&growing, &root, options);
	return add_command(&growing, command);
}

void stat_targets_release(struct stat_targets *targets)
{
	free(targets->list);
	free(targets->row_of);
	free(targets->labels);
	free(targets->cpus_of);
	free(targets->tasks);
	arena_release(&targets->arena);
	*targets = (struct stat_targets){ 0 };
}
