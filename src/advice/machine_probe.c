#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "advice/machine_probe.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "machine/event.h"
#include "machine/perf_open.h"
#include "machine/pmu.h"
#include "machine/probe.h"

static struct perf_event_attr sampled(uint32_t type, uint64_t config, uint64_t period)
{
	return (struct perf_event_attr){ .type = type,
					 .size = sizeof(struct perf_event_attr),
					 .config = config,
					 .sample_period = period,
					 .sample_type = PERF_SAMPLE_IP,
					 .disabled = 1 };
}

static struct perf_event_attr user_only(struct perf_event_attr attr)
{
	attr.exclude_kernel = attr.exclude_hv = 1;
	return attr;
}

/* How many pinned copies of one event count at once: each needs a general counter. */
static uint64_t count_copies(uint64_t config)
{
	int fds[EVENT_GROUP_LIMIT];
	uint64_t most = 0;
	for (size_t size = 1; size <= EVENT_GROUP_LIMIT; size++) {
		struct perf_event_attr attr = user_only(sampled(PERF_TYPE_HARDWARE, config, 0));
		size_t opened = 0;
		uint64_t count;
		attr.sample_type = 0;
		for (; opened < size; opened++) {
			attr.pinned = attr.disabled = opened == 0;
			fds[opened] = perf_open(&attr, 0, -1, opened ? fds[0] : -1, 0);
			if (fds[opened] < 0)
				break;
		}
		/* A pinned group that cannot be scheduled is in error: reading it gives nothing. */
		bool counts = opened == size &&
			      ioctl(fds[0], PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP) == 0 &&
			      read(fds[0], &count, sizeof(count)) == sizeof(count);
		while (opened-- > 0)
			close(fds[opened]);
		if (!counts)
			break;
		most = size;
	}
	return most;
}

static uint64_t count_counters(void)
{
	/* Not cycles or instructions: those may have counters of their own. */
	static const uint64_t configs[] = { PERF_COUNT_HW_BRANCH_MISSES, PERF_COUNT_HW_CACHE_MISSES,
					    PERF_COUNT_HW_BRANCH_INSTRUCTIONS,
					    PERF_COUNT_HW_INSTRUCTIONS };
	for (size_t i = 0; i < sizeof(configs) / sizeof(configs[0]); i++) {
		uint64_t counters = count_copies(configs[i]);
		if (counters)
			return counters;
	}
	return 0;
}

static enum fact probe_rdpmc(void)
{
	struct perf_event_attr attr =
		user_only(sampled(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 0));
	attr.sample_type = 0;
	attr.disabled = 0;
#if defined(__aarch64__)
	attr.config1 = 2; /* asks for user-space access (drivers/perf/arm_pmuv3.c, "rdpmc") */
#endif
	CLEANUP(close_fd) int fd = perf_open(&attr, 0, -1, -1, 0);
	if (fd < 0)
		return fd == -EACCES || fd == -EPERM ? FACT_UNKNOWN : FACT_NO;
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	struct perf_event_mmap_page *page = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		return FACT_UNKNOWN;
	enum fact allowed = page->cap_user_rdpmc && page->index ? FACT_YES : FACT_NO;
	munmap(page, size);
	return allowed;
}

static bool group_opens(const struct pmu_list *pmus, const char *text)
{
	struct event_list list = { 0 };
	int leader = -1;
	bool opens = event_list_parse(&list, pmus, NULL, text, NULL) == 0;
	int fds[EVENT_GROUP_LIMIT];
	size_t count = 0;
	size_t size = opens ? event_list_group_size(&list, 0) : 0;
	for (; opens && count < size; count++) {
		struct perf_event_attr attr = user_only(list.events[count].attr);
		fds[count] = perf_open(&attr, 0, -1, leader, 0);
		if (fds[count] < 0) {
			opens = false;
			break;
		}
		if (leader < 0)
			leader = fds[count];
	}
	while (count-- > 0)
		close(fds[count]);
	event_list_release(&list);
	return opens;
}

static void probe_topdown(const struct cpu_info *cpu, const struct pmu_list *pmus,
			  struct machine_probe *probe)
{
	static const struct {
		enum cpu_vendor vendor;
		const char *group;
		const char *how;
	} ways[] = {
		{ CPU_VENDOR_INTEL, "{slots,topdown-retiring,topdown-heavy-ops}",
		  "levels 1 and 2 on a counter of their own" },
		{ CPU_VENDOR_INTEL, "{slots,topdown-retiring}", "level 1 on a counter of its own" },
		{ CPU_VENDOR_INTEL, "{topdown-total-slots,topdown-slots-retired}",
		  "level 1 on general counters" },
		{ CPU_VENDOR_INTEL, "{topdown-retiring,topdown-be-bound}",
		  "level 1 on general counters" },
		/* AMD PPR of family 19h model 11h and later: PMCx1A0 dispatch slots left empty. */
		{ CPU_VENDOR_AMD, "{cpu/event=0x1a0,umask=0x01/,cpu/event=0x1a0,umask=0x1e/}",
		  "levels 1 and 2 on general counters" },
		{ CPU_VENDOR_ARM, "{stall_slot_frontend,stall_slot_backend}",
		  "level 1 on general counters (stall slots)" },
		{ CPU_VENDOR_ARM, "{stall_frontend,stall_backend}",
		  "level 1 in cycles, not slots, on general counters" },
	};
	bool refused = probe->cycles_user == -EACCES || probe->cycles_user == -EPERM;
	probe->topdown = refused ? FACT_UNKNOWN : FACT_NO;
	if (probe->cycles_user)
		return;
	/* AMD cores before Zen 4 accept any number: the model decides. */
	uint64_t family = cpu->types[0].family, model = cpu->types[0].model;
	bool zen4 = (family > 0x19 && family != CPU_UNKNOWN_U64) ||
		    (family == 0x19 &&
		     ((model >= 0x10 && model <= 0x1f) || (model >= 0x60 && model <= 0x7f) ||
		      (model >= 0xa0 && model <= 0xaf)));
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (ways[i].vendor != cpu->vendor || (cpu->vendor == CPU_VENDOR_AMD && !zen4) ||
		    !group_opens(pmus, ways[i].group))
			continue;
		probe->topdown = FACT_YES;
		snprintf(probe->topdown_how, sizeof(probe->topdown_how), "%s", ways[i].how);
		return;
	}
}

/* Opens a sampling PMU with a driver of its own, for this thread or, if the driver does not follow
 * tasks, for a CPU. 0 or the last negative errno value. */
static int probe_sampler(const struct pmu *pmu, uint64_t period)
{
	if (!pmu)
		return -ENXIO;
	struct perf_event_attr attr = sampled(pmu->type, 0, period);
	int status = probe_open(&attr, -1);
	size_t cpu = pmu->has_cpus ? cpu_set_next(&pmu->cpus, 0) : 0;
	if (status && cpu < CPU_SET_LIMIT)
		status = probe_open(&attr, (int)cpu);
	return status;
}

static const struct pmu *find_by_prefix(const struct pmu_list *pmus, const char *prefix)
{
	for (size_t i = 0; i < pmus->count; i++)
		if (strncmp(pmus->pmus[i].name, prefix, strlen(prefix)) == 0)
			return &pmus->pmus[i];
	return NULL;
}

static int load_bpf(void)
{
	/* r0 = 0; exit */
	struct bpf_insn program[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr;
	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_PERF_EVENT;
	attr.insns = (uint64_t)(uintptr_t)program;
	attr.insn_cnt = sizeof(program) / sizeof(program[0]);
	attr.license = (uint64_t)(uintptr_t) "GPL";
	long fd = syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
	if (fd < 0)
		return -errno;
	close((int)fd);
	return 0;
}

static enum fact probe_btf(void)
{
	uint16_t magic = 0;
	CLEANUP(close_fd) int fd = open("/sys/kernel/btf/vmlinux", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? FACT_NO : FACT_UNKNOWN;
	if (read(fd, &magic, sizeof(magic)) != sizeof(magic))
		return FACT_UNKNOWN;
	return magic == 0xeb9f ? FACT_YES : FACT_NO; /* BTF_MAGIC (Documentation/bpf/btf.rst) */
}

void machine_probe_run(const struct cpu_info *cpu, const struct pmu_list *pmus,
		       struct machine_probe *probe)
{
	*probe = (struct machine_probe){ 0 };
	struct perf_event_attr clock =
		sampled(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, 1000000000);
	struct perf_event_attr user_clock = user_only(clock);
	struct perf_event_attr cycles =
		sampled(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 10000000);
	struct perf_event_attr user_cycles = user_only(cycles);
	size_t first = cpu_set_next(&cpu->online, 0);
	probe->clock = probe_open(&clock, -1);
	probe->clock_user = probe_open(&user_clock, -1);
	probe->cycles = probe_open(&cycles, -1);
	probe->cycles_user = probe_open(&user_cycles, -1);
	probe->all_processes = probe_open(&clock, first < CPU_SET_LIMIT ? (int)first : 0);
	probe->rdpmc = FACT_NO;
	probe->branch_stack = FACT_NO;
	if (probe->cycles_user == 0) {
		struct perf_features features;
		perf_features_probe(&features);
		probe->counters = count_counters();
		probe->rdpmc = probe_rdpmc();
		probe->branch_stack = features.branch_stack;
		for (unsigned int precise = 1; precise <= 3; precise++) {
			user_cycles.precise_ip = precise & 3;
			if (probe_open(&user_cycles, -1) == 0)
				probe->precise = precise;
		}
	} else if (probe->cycles_user == -EACCES || probe->cycles_user == -EPERM) {
		probe->rdpmc = probe->branch_stack = FACT_UNKNOWN;
	}
	probe_topdown(cpu, pmus, probe);
	/* IBS takes periods in steps of 16; SPE counts operations. */
	probe->ibs = probe_sampler(pmu_find(pmus, "ibs_op"), 0x100000);
	probe->spe = probe_sampler(find_by_prefix(pmus, "arm_spe"), 0x100000);
	probe->bpf = load_bpf();
	probe->btf = probe_btf();
}
