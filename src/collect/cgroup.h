/*
 * cgroup - which control group a process is in, from the text of
 * /proc/PID/cgroup, and which container that is.
 */
#pragma once

#include "base/span.h"

struct error;

/*
 * The most telling of the process's paths: that of the unified hierarchy, unless it is the
 * root; else systemd's own, then that of perf events. Borrowed from `text`; empty: none.
 */
struct span cgroup_path(struct span text);

/* The container's name in the path: its last run of 64 hexadecimal digits, as docker, containerd,
 * CRI-O and podman name theirs. Borrowed; empty without one. */
struct span cgroup_container(struct span path);

/*
 * Opens the folder of a control group: an absolute path, or one below the mount
 * that perf events use (the unified hierarchy, or perf_event's own). The descriptor or a
 * negative errno with the sentence.
 */
int cgroup_open(const char *path, struct error *err);
