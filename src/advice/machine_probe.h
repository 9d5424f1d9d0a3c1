/*
 * machine_probe - what doctor finds out by opening events and loading a BPF program, by the
 * rules of machine/probe.h, except that it briefly takes pinned counters of this thread to count
 * them.
 */
#pragma once

#include <stdint.h>

#include "machine/cpu.h"

struct pmu_list;

/* An int is 0, or the negative errno value with which the kernel refused. */
struct machine_probe {
	int clock, clock_user;	 /* sampling this thread by cpu-clock, with and without the kernel's
				    code */
	int cycles, cycles_user; /* the same by hardware cycles */
	int all_processes; /* cpu-clock of every process on one CPU, the kernel's code included */
	uint64_t counters; /* general counters that one thread can have at once; 0: none, or
			      unknown */
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
