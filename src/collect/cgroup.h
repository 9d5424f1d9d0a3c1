/*
 * cgroup - which control group a process is in, from the text of
 * /proc/PID/cgroup, and which container that is.
 */
#pragma once

#include "base/span.h"

struct error;

/*
 * The path that says most: of the unified hierarchy, unless the process is in its
 * root; else systemd's own, then that of perf events. Borrowed from `text`; empty: none.
 */
struct span cgroup_path(struct span text);

/* The last 64 hexadecimal digits in a row of the path, as docker, containerd, CRI-O and podman name
 * theirs; empty without any. */
struct span cgroup_container(struct span path);

/*
 * Opens the folder of a control group: an absolute path, or one below the mount
 * that perf events use (the unified hierarchy, or perf_event's own). The descriptor or a
 * negative errno with the sentence.
 */
int cgroup_open(const char *path, struct error *err);
