/*
 * kept_processes - whose processes have contexts of their own, by their numbers, while those of all
 * others are added up: so that a database stays small beside a storm of short processes, and the
 * processes of a server are seen one by one (DCPI, SOSP 1997, 4.3). Chosen by command, by an image
 * that they have mapped, or by control group; whoever fits one of the choices is kept.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/span.h"

struct error;
struct process;

struct kept_choice; /* private */

struct kept_processes {
	struct kept_choice *choices;
	size_t count;
	bool images; /* one of them is an image */
};

/*
 * "COMMAND", "image:PATH" or "cgroup:PATH", all of them patterns (profile/context_patterns.h). An
 * image's path may lead through links; that of a group stands for those below it, too. Texts are
 * borrowed. 0; -EINVAL with a sentence in *err for what can fit nothing; -ENOMEM.
 */
int kept_processes_init(struct kept_processes *kept, const char *const *texts, size_t count,
			struct error *err);
void kept_processes_release(struct kept_processes *kept); /* also right for a zeroed one */

/* To be told of what a process maps, by the name that it has there. True: this is what makes the
 * process one of the kept. */
bool kept_processes_map(const struct kept_processes *kept, struct process *process,
			struct span path);
/* Whether a process of that command and group is kept; `mapped`: as it said of what it maps
 * (process->kept). */
bool kept_processes_have(const struct kept_processes *kept, struct span comm, struct span cgroup,
			 bool mapped);
