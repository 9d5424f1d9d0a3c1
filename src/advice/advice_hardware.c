#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "advice/advice_parts.h"

#define CPUS "/sys/devices/system/cpu"

void advise_processor(struct advising *advising)
{
	const struct cpu_info *cpu = advising->facts->cpu;
	char model[256], microcode[64], frequency[256];
	cpu_info_format_model(cpu, model, sizeof(model));
	cpu_info_format_microcode(cpu, microcode, sizeof(microcode));
	cpu_info_format_frequency(cpu, frequency, sizeof(frequency));
	size_t online = cpu_set_count(&cpu->online);
	if (strcmp(model, "unknown") == 0 && !online) {
		advising_add(advising, "processor", FINDING_UNKNOWN,
			     "model unknown: /proc/cpuinfo cannot be read",
			     "no events by the model's own names", "");
	} else {
		const char *name =
			cpu->types[0].model_name[0] ? cpu->types[0].model_name : cpu->vendor_name;
		char nodes[48] = "";
		if (cpu->nodes != CPU_UNKNOWN_U64 && cpu->nodes > 1)
			snprintf(nodes, sizeof(nodes), " on %llu NUMA nodes",
				 (unsigned long long)cpu->nodes);
		advising_add(advising, "processor", FINDING_OK,
			     advising_text(advising, "%s (%s%s%s), %zu CPU%s%s%s%s",
					   name[0] ? name : "unknown", model,
					   microcode[0] ? ", microcode " : "", microcode, online,
					   online == 1 ? "" : "s", nodes, frequency[0] ? ", " : "",
					   frequency),
			     "", "");
	}
	if (cpu->virtual_machine == FACT_YES)
		advising_add(advising, "machine", FINDING_OK,
			     advising_text(advising, "virtual machine%s%s%s%s",
					   cpu->hypervisor[0] ? ": " : "", cpu->hypervisor,
					   cpu->container[0] ? ", in a container: " : "",
					   cpu->container),
			     "", "");
	else if (cpu->virtual_machine == FACT_NO || cpu->container[0])
		advising_add(advising, "machine", FINDING_OK,
			     advising_text(
				     advising, "%s%s%s%s%s",
				     cpu->virtual_machine == FACT_NO ? "bare metal"
								     : "metal or virtual: unknown",
				     cpu->product[0] ? ": " : "", cpu->product,
				     cpu->container[0] ? ", in a container: " : "", cpu->container),
			     "", "");
	if (cpu->type_count < 2)
		return;
	char types[512] = "";
	for (size_t i = 0; i < cpu->type_count; i++) {
		char cpus[64];
		size_t length = strlen(types);
		cpu_set_format(&cpu->types[i].cpus, cpus, sizeof(cpus));
		snprintf(types + length, sizeof(types) - length, "%s%s (CPUs %s)", i ? ", " : "",
			 cpu->types[i].name, cpus);
	}
	advising_add(advising, "core-types", FINDING_LIMIT,
		     advising_text(advising, "%zu core types: %s%s", cpu->type_count, types,
				   cpu->types_left_out ? ", and more" : ""),
		     "one count per type; cycles of different types are not added",
		     "taskset -c CPUS COMMAND keeps a program on one type");
}

void advise_clock(struct advising *advising)
{
	const struct cpu_info *cpu = advising->facts->cpu;
	if (cpu->smt == FACT_YES)
		advising_add(
			advising, "smt", FINDING_LIMIT, "SMT is on: two threads share a core",
			"cycles of one thread go on while the other holds the core, so CPI drifts "
			"with the neighbour",
			advising_write(advising, "off", CPUS "/smt/control"));
	else
		advising_add(advising, "smt", cpu->smt == FACT_NO ? FINDING_OK : FINDING_UNKNOWN,
			     cpu->smt == FACT_NO ? "SMT is off"
						 : "whether SMT is on cannot be read",
			     "", "");
	if (!cpu->governor[0])
		advising_add(advising, "governor", FINDING_UNKNOWN,
			     cpu->virtual_machine == FACT_YES
				     ? "no frequency governor in sight: the host decides"
				     : "the frequency governor cannot be read",
			     "", "");
	else if (strcmp(cpu->governor, "performance") == 0)
		advising_add(advising, "governor", FINDING_OK, "frequency governor: performance",
			     "", "");
	else
		advising_add(
			advising, "governor", FINDING_LIMIT,
			advising_text(advising, "frequency governor: %s%s%s", cpu->governor,
				      cpu->frequency_driver[0] ? ", driver " : "",
				      cpu->frequency_driver),
			"the clock follows the load: times of two runs do not compare, cycles do",
			advising_write(advising, "performance",
				       CPUS "/cpu*/cpufreq/scaling_governor"));
	if (cpu->boost == FACT_YES)
		advising_add(advising, "turbo", FINDING_LIMIT, "turbo is on",
			     "the clock follows heat and neighbours: times drift, cycles less",
			     cpu->vendor == CPU_VENDOR_INTEL &&
					     strncmp(cpu->frequency_driver, "intel_", 6) == 0
				     ? advising_write(advising, "1", CPUS "/intel_pstate/no_turbo")
				     : advising_write(advising, "0", CPUS "/cpufreq/boost"));
	else
		advising_add(advising, "turbo",
			     cpu->boost == FACT_NO ? FINDING_OK : FINDING_UNKNOWN,
			     cpu->boost == FACT_NO ? "turbo is off"
						   : "whether turbo is on cannot be read",
			     "", "");
}

/* How to make a hypervisor give its guest a PMU. */
static const char *pmu_cure(const struct cpu_info *cpu)
{
	if (cpu->virtual_machine != FACT_YES)
		return "switch the PMU on in the firmware's setup; perf's drivers must be in the "
		       "kernel";
	if (strncmp(cpu->hypervisor, "Firecracker", 11) == 0)
		return "none inside: Firecracker has no virtual PMU; use metal, or QEMU with -cpu "
		       "host,pmu=on";
	if (strncmp(cpu->hypervisor, "Nitro", 5) == 0)
		return "take a .metal instance type, or one that fills a whole socket";
	if (strcmp(cpu->hypervisor, "VMware") == 0)
		return "in the machine's .vmx: vpmc.enable = \"TRUE\"";
	if (strcmp(cpu->hypervisor, "Hyper-V") == 0)
		return "on the host: Set-VMProcessor NAME -Perfmon @(\"pmu\")";
	if (strcmp(cpu->hypervisor, "Xen") == 0)
		return "on the host: boot Xen with vpmu=on";
	if (strcmp(cpu->hypervisor, "KVM") == 0 || strcmp(cpu->hypervisor, "QEMU") == 0)
		return "on the host: qemu -cpu host,pmu=on (libvirt: <features><pmu state='on'/>), "
		       "if it "
		       "has a PMU itself";
	return "on the host: give the guest a virtual PMU";
}

static void join_cores(const struct facts *facts, char *text, size_t size)
{
	const struct pmu *pmu;
	text[0] = 0;
	for (size_t n = 0; (pmu = pmu_core(facts->pmus, n)); n++) {
		const char *kind = pmu_cap(pmu, "pmu_name");
		size_t length = strlen(text);
		snprintf(text + length, size - length, "%s%s%s%s%s", n ? ", " : "", pmu->name,
			 kind ? " (" : "", kind ? kind : "", kind ? ")" : "");
	}
	if (!text[0])
		snprintf(text, size, "cpu");
}

static void advise_watchdog(struct advising *advising)
{
	const struct rights *rights = advising->facts->rights;
	if (rights->nmi_watchdog == RIGHTS_UNKNOWN || advising->facts->probe->cycles_user)
		return; /* without counters the watchdog holds none */
	if (rights->nmi_watchdog)
		advising_add(advising, "nmi-watchdog", FINDING_LIMIT,
			     "the NMI watchdog holds a counter on every CPU",
			     "groups have one counter less",
			     advising_sysctl(advising, "kernel.nmi_watchdog=0"));
	else
		advising_add(advising, "nmi-watchdog", FINDING_OK, "the NMI watchdog is off", "",
			     "");
}

static void advise_rdpmc(struct advising *advising)
{
	const struct facts *facts = advising->facts;
	static const char means[] = "counting a region from inside a program takes a system call, "
				    "some 500 ns instead of 10";
	if (facts->probe->rdpmc == FACT_YES) {
		advising_add(advising, "rdpmc", FINDING_OK,
			     "programs may read their counters themselves", "", "");
		return;
	}
	const char *cure = "";
	if (facts->cpu->vendor == CPU_VENDOR_ARM && facts->rights->perf_user_access == 0)
		cure = advising_sysctl(advising, "kernel.perf_user_access=1");
	else if (facts->rights->rdpmc == 0)
		cure = advising_write(
			advising, "1",
			advising_text(advising, "/sys/bus/event_source/devices/%s/rdpmc",
				      pmu_core(facts->pmus, 0) ? pmu_core(facts->pmus, 0)->name
							       : "cpu"));
	advising_add(advising, "rdpmc",
		     facts->probe->rdpmc == FACT_NO ? FINDING_LIMIT : FINDING_UNKNOWN,
		     facts->probe->rdpmc == FACT_NO
			     ? "programs may not read their counters themselves"
			     : "whether programs may read their counters is unknown",
		     means, cure);
}

static void advise_topdown(struct advising *advising)
{
	const struct facts *facts = advising->facts;
	if (facts->probe->topdown == FACT_YES)
		advising_add(advising, "topdown", FINDING_OK,
			     advising_text(advising, "TopDown: %s", facts->probe->topdown_how), "",
			     "");
	else
		advising_add(advising, "topdown",
			     facts->probe->topdown == FACT_NO ? FINDING_LIMIT : FINDING_UNKNOWN,
			     facts->probe->topdown == FACT_NO ? "no TopDown events"
							      : "TopDown unknown",
			     "no split of slots into retiring, speculation, frontend, backend", "");
}

static void advise_branches(struct advising *advising)
{
	const struct facts *facts = advising->facts;
	const struct pmu *core = pmu_core(facts->pmus, 0);
	const char *depth = core ? pmu_cap(core, "branches") : NULL;
	if (facts->probe->branch_stack == FACT_YES)
		advising_add(
			advising, "branches", FINDING_OK,
			advising_text(advising, "branch records%s%s%s",
				      facts->cpu->vendor == CPU_VENDOR_ARM ? " (BRBE)" : " (LBR)",
				      depth ? ", depth " : "", depth ? depth : ""),
			"", "");
	else
		advising_add(
			advising, "branches",
			facts->probe->branch_stack == FACT_NO ? FINDING_LIMIT : FINDING_UNKNOWN,
			facts->probe->branch_stack == FACT_NO ? "no records of taken branches (LBR)"
							      : "records of taken branches unknown",
			"frequencies and edges are estimated from samples alone", "");
}

static void advise_precise(struct advising *advising)
{
	const struct facts *facts = advising->facts;
	const struct machine_probe *probe = facts->probe;
	static const char late[] = "a sample's address is some instructions late";
	if (probe->ibs == 0)
		advising_add(advising, "precise", FINDING_OK, "precise samples: IBS (ibs_op)", "",
			     "");
	else if (probe->spe == 0)
		advising_add(advising, "precise", FINDING_OK, "precise samples: SPE (arm_spe)", "",
			     "");
	else if (advising_refused(probe->ibs) || advising_refused(probe->spe))
		advising_add(advising, "precise", FINDING_LIMIT,
			     probe->ibs != -ENXIO ? "IBS is here, but not allowed"
						  : "SPE is here, but not allowed",
			     late, advising_setcap(advising));
	else if (probe->precise && facts->cpu->vendor == CPU_VENDOR_INTEL)
		advising_add(advising, "precise", FINDING_OK,
			     advising_text(advising, "precise samples: PEBS, up to :%.*s",
					   (int)probe->precise, "ppp"),
			     "", "");
	else
		advising_add(advising, "precise", FINDING_LIMIT,
			     "no precise samples (PEBS, IBS, SPE)", late, "");
}

void advise_counters(struct advising *advising)
{
	const struct facts *facts = advising->facts;
	const struct machine_probe *probe = facts->probe;
	char cores[256];
	join_cores(facts, cores, sizeof(cores));
	if (advising_refused(probe->cycles_user)) {
		advising_add(advising, "counters", FINDING_UNKNOWN,
			     "hardware counters: unknown until perf events are allowed", "", "");
		return;
	}
	if (probe->cycles_user) {
		/* One cause, one line: the findings below all follow from it. */
		advising_add(
			advising, "counters", FINDING_LIMIT,
			facts->cpu->virtual_machine == FACT_YES
				? "no hardware counters: this virtual machine has no PMU"
				: "no hardware counters (no PMU)",
			"time (cpu-clock) instead of cycles: no CPI, no cache, branch or TopDown "
			"events, no LBR, no precise samples, no rdpmc",
			pmu_cure(facts->cpu));
		return;
	}
	advising_add(advising, "counters", FINDING_OK,
		     probe->counters ? advising_text(advising, "PMU %s: %llu general counters free",
						     cores, (unsigned long long)probe->counters)
				     : advising_text(advising,
						     "PMU %s; how many counters is unknown", cores),
		     "", "");
	advise_watchdog(advising);
	advise_rdpmc(advising);
	advise_topdown(advising);
	advise_branches(advising);
	advise_precise(advising);
}
