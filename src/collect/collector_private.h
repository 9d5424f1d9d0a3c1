/*
 * collector_private - what the files of the collector share: how it is made (collector.c), and
 * what it does while it runs (collector_run.c). Tests fill one in themselves, without any event of
 * the kernel's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "collect/calm.h"
#include "collect/collector.h"
#include "collect/hotplug.h"
#include "collect/ledger.h"
#include "collect/plan.h"
#include "collect/session.h"
#include "collect/source.h"
#include "collect/targets.h"
#include "collect/turns.h"

struct collector {
	struct collect_options options;
	struct plan plan;
	struct session session;
	struct targets targets;
	struct ledger ledger;
	struct hotplug hotplug;
	struct calm_cpu
		*calm; /* by CPU slot; NULL: clocks tick on idle CPUs as often as on others */
	struct cpu_time *looks; /* likewise, as last read */
	struct turns turns;
	struct source *source;
	struct random_state random;
	int poll_fd, timer_fd;
	int resume_fd;	    /* a timer: the pause is over */
	bool paused;	    /* poll_fd does not wake for records about processes */
	bool sideband_news; /* the last service found such records */
	uint64_t end_ns;    /* when the epoch ended; 0: it goes on */
	uint64_t epoch_begin_ns, epoch_start_real_ns, epoch;
};

/* Has collector_poll_fd() wake after that time, and then as always. */
void collector_set_timer(const struct collector *collector, uint64_t first_ns);

static inline void collector_note(const struct collector *collector, enum collect_note_kind kind,
				  const char *sentence)
{
	collect_note(&collector->options, kind, sentence);
}

/* Whether all that runs on the watched CPUs is sampled. */
static inline bool collector_samples_all(const struct collector *collector)
{
	const struct collect_options *options = &collector->options;
	return options->target == COLLECT_SYSTEM && !options->user_only && !options->kernel_only &&
	       !collector->session.counters.kernel_dropped;
}
