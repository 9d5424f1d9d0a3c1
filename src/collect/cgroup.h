/*
 * cgroup - which control group a process is in, from the text of
 * /proc/PID/cgroup; what its path tells is profile/cgroup_names.h's.
 */
#pragma once

#include "base/span.h"

struct error;

/*
 * The most telling of the process's paths: that of the unified hierarchy, unless it is the
 * root; else systemd's own, then that of perf events. But where one shows a container and those
 * before it do not, it is that one: on machines with several hierarchies engines put containers
 * into those of version 1 alone. Borrowed from `text`; empty: none.
 */
struct span cgroup_path(struct span text);

/*
 * Opens the folder of a control group: an absolute path, or one below the mount
 * that perf events use (the unified hierarchy, or perf_event's own). The descriptor or a
 * negative errno with the sentence.
 */
int cgroup_open(const char *path, struct error *err);
