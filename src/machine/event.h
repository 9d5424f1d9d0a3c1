/*
 * event - what a user writes after -e, as perf_event_attr values.
 *
 *	cycles  cycles:u  {cycles,instructions}:k  L1-dcache-load-misses:pp
 *	r01c2  cpu/event=0x3c,umask=0x00,cmask=1/u  cpu_core/cycles/  uncore_imc/cas_count_read/
 *	{cycles,instructions:S}  {slots,cycles,topdown-retiring}
 *	INST_RETIRED:ANY_P:k (libpfm4)
 *
 * On a machine with several core types a generic, raw or bare event becomes one
 * event per type and a group one group per type, all with the name that was written.
 * Whether the kernel can count an event is not asked here (machine/probe.h).
 *
 * A list owns its text; it is zeroed before the first use and belongs to one
 * thread while it is filled. Parsing has no side effect but those of the namer.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/perf_event.h>

#include "base/arena.h"
#include "machine/cpu_set.h"
#include "machine/event_cycles.h"
#include "machine/event_namer.h"

struct error;
struct pmu;
struct pmu_list;

/*
 * The part that an event has in a TopDown group of Intel's core PMUs with the register PERF_METRICS
 * (Ice Lake and later; tools/perf/Documentation/topdown.txt). A metric is counted only in a group
 * that slots leads; in such a group none of them can be sampled.
 */
enum event_slots { EVENT_NO_SLOTS, EVENT_SLOTS, EVENT_SLOTS_METRIC };

enum event_kind { EVENT_HARDWARE, EVENT_SOFTWARE, EVENT_CACHE, EVENT_RAW, EVENT_PMU, EVENT_PFM };

struct event {
	/* Set: type, size, config, config1, config2, exclude_user|kernel|hv|idle|host|guest,
	   precise_ip, pinned, exclusive, and sample_period or freq + sample_freq where the terms
	   say so. The rest is 0. */
	struct perf_event_attr attr;
	const char *name;      /* as written, modifiers of the group added: "cycles:u" */
	const char *pmu;       /* "cpu", "software", "armv8_pmuv3_0" */
	const char *core_type; /* "cpu_core" on machines with several core types, else NULL */
	const char *unit;      /* "cycles", "instructions", "ns", "events", or what sysfs says */
	double scale;	       /* of the count in that unit */
	enum event_kind kind;
	enum event_cycles cycles;
	bool clock;	  /* cpu-clock, task-clock: ns, and never on the PMU */
	bool max_precise; /* :P was written: the highest precise_ip that opens */
	bool has_cpus;	  /* counts on `cpus` only (core type, or uncore PMU) */
	bool uncore;	  /* system-wide only */
	bool read_group;  /* :S was written: samples of one event read the group */
	bool marked;	  /* :S was written behind the event itself: it shall be that one */
	enum event_slots slots;
	size_t leader; /* index of the group's first event; its own index when it leads or stands
			  alone */
	struct cpu_set cpus;
};

/* Whether it happens in the kernel alone (switches of tasks): of user code the kernel would count
 * 0. */
bool event_is_kernel_only(const struct perf_event_attr *attr);

struct event_list {
	struct arena arena;
	struct event *events; /* the members of a group follow its leader */
	size_t count;
	size_t capacity;
};

/* Deeper than any PMU: 8 general and 5 fixed counters on the largest. */
#define EVENT_GROUP_LIMIT 32

/*
 * Appends what `text` says to *list; names that are not the kernel's are asked of `namer`, NULL for
 * none. Returns 0; -EINVAL for a mistake, with the
 * text, the position and the nearest known name in *err; -ENOENT for a name
 * that is well formed but that nobody knows here; -ENOMEM. After an error the list
 * is as before.
 */
int event_list_parse(struct event_list *list, const struct pmu_list *pmus,
		     const struct event_namer *namer, const char *text, struct error *err);
void event_list_release(
	struct event_list *list); /* also right for a zeroed one, and for CLEANUP() */

/* How many events, from `leader`, its group has. */
size_t event_list_group_size(const struct event_list *list, size_t leader);

/*
 * Stores which event of the group that begins at `leader` is sampled, and reads the others: the one
 * that alone is marked, else the leader; in a group of slots and its metrics the first other event,
 * as perf record has it. Returns 0, or -EINVAL with *err where the kernel could not sample it.
 */
int event_list_sampled(const struct event_list *list, size_t leader, size_t *sampled,
		       struct error *err);

/* perf's own spelling: "cpu/config=0x3c/u", "r1c2:k", or the generic name with its modifiers. */
void event_format_perf(const struct event *event, char *text, size_t size);
