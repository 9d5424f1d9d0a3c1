/*
 * cgroup_names - what the path of a control group tells of who is in it: a service of systemd, a
 * container. Anybody who may make a group chooses its name, so that is what the path says, and no
 * proof; a user's manager of services, though, has its own place, below a service of the machine's.
 *
 * Texts are borrowed from what they were found in.
 */
#pragma once

#include "base/span.h"

struct profile_context;

/*
 * A service: a unit of systemd whose name ends in ".service". Of those that a user's manager runs
 * `manager` is that, "user@1000.service", for a user may call a service as one of the machine;
 * else it is absent. The manager by itself is a service of the machine.
 */
struct service_name {
	struct span manager;
	struct span unit; /* absent: it is in no service */
};

/* As systemd itself reads the path: below slices the
 * first group is the unit's. Sessions, and whatever else is a scope, are no services; nor is what a
 * container's own systemd runs. */
struct service_name cgroup_service(struct span path);

/*
 * The innermost container's name: the 64 hexadecimal digits that Docker, containerd, CRI-O and
 * Podman name theirs by, in a group that is called as they call it; or the name of one of LXC.
 * Absent without one, as for the process that watches over a container from outside.
 */
struct span cgroup_container(struct span path);

/* The container that the context names, else the one that its control group shows. */
struct span profile_context_container(const struct profile_context *context);
