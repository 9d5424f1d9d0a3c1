/*
 * probe - what the kernel lets this process do, found out by trying. Each
 * function opens its own descriptors and closes them all. Nothing is changed
 * and nobody else's counters are touched, except that the counter count briefly
 * holds pinned counters of this thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "machine/cpu.h"

struct error;
struct event_list;
struct pmu_list;
struct perf_event_attr;

/* FACT_UNKNOWN: refused for a reason that says nothing about the feature (no permission). */
struct perf_features {
	enum fact format_lost;	    /* PERF_FORMAT_LOST (Linux 6.0) */
	enum fact inherit_read_tid; /* inherit + PERF_SAMPLE_READ + PERF_SAMPLE_TID (Linux 6.12) */
	enum fact inherit_read;	    /* the same without PERF_SAMPLE_TID */
	enum fact build_id;	    /* attr.build_id in mmap2 records (Linux 5.12) */
	enum fact ksymbol;	    /* attr.ksymbol (Linux 5.1) */
	enum fact text_poke;	    /* attr.text_poke (Linux 5.8) */
	enum fact cgroup;	    /* attr.cgroup records (Linux 5.7) */
	enum fact remove_on_exec;   /* attr.remove_on_exec (Linux 5.13) */
	enum fact inherit_thread;   /* attr.inherit_thread (Linux 5.13) */
	enum fact branch_stack;	    /* taken branches (LBR, BRBE) with samples of cycles */
};
void perf_features_probe(struct perf_features *features);

/* What doctor tries beyond that. Codes are 0 or the negative errno value that refused. */
struct machine_probe {
	int clock, clock_user;	 /* sampling this thread by cpu-clock, with the kernel's code and
				    without */
	int cycles, cycles_user; /* the same by hardware cycles */
	int all_processes; /* cpu-clock of every process on one CPU, the kernel's code included */
	uint64_t counters; /* general counters that one thread can have at once; 0: none, or not
			      known */
	enum fact rdpmc;   /* user code may read its counters */
	enum fact topdown; /* slots or top-down events open */
	char topdown_how[CPU_TEXT_SIZE];
	enum fact branch_stack;
	unsigned int
		precise; /* highest precise_ip that cycles opened with; proves nothing on arm64 */
	int ibs, spe;	 /* -ENXIO: this machine has no such PMU */
	int bpf;	 /* loading a two-instruction perf_event program */
	enum fact btf;	 /* the kernel's types are readable */
};
void machine_probe_run(const struct cpu_info *cpu, const struct pmu_list *pmus,
		       struct machine_probe *probe);

/*
 * Whether the kernel opens this attr for the calling thread on any CPU; with
 * cpu >= 0 for every process on that CPU. 0 or the negative errno value.
 */
int probe_open(const struct perf_event_attr *attr, int cpu);

/*
 * Appends what `record` and `stat` use when no event is given: one group of cycles and
 * instructions (ref-cycles too when it still fits the counters), one such
 * group per core type; cpu-clock where hardware cycles cannot be opened. When user
 * code alone may be sampled, the events say so (":u"). *why_not_cycles gets
 * the negative errno value that ruled out cycles, or 0. 0, -ENOMEM, or what even
 * cpu-clock was refused with (in *err).
 */
int event_list_default(struct event_list *list, const struct pmu_list *pmus, int *why_not_cycles,
		       struct error *err);
