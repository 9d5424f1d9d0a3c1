/*
 * trees - /proc and /sys of five machines, as their kernels write them, cut to
 * what culprit reads.
 */
#pragma once

#include "tree.h"

#define TREE_CPU "sys/devices/system/cpu/"
#define TREE_PMU "sys/bus/event_source/devices/"

#define CPUINFO_INTEL(number)                                                                      \
	"processor\t: " number "\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 183\n"    \
	"model name\t: 13th Gen Intel(R) Core(TM) i9-13900K\nstepping\t: 1\nmicrocode\t: 0x129\n"  \
	"flags\t\t: fpu vme arch_perfmon pebs\nbugs\t\t: spectre_v1\n\n"

static const struct tree_file tree_intel_hybrid[] = {
	{ "proc/cpuinfo",
	  CPUINFO_INTEL("0") CPUINFO_INTEL("1") CPUINFO_INTEL("2") CPUINFO_INTEL("3") },
	{ TREE_CPU "online", "0-3" },
	{ TREE_CPU "possible", "0-3" },
	{ TREE_CPU "smt/active", "1" },
	{ TREE_CPU "smt/control", "on" },
	{ TREE_CPU "intel_pstate/no_turbo", "0" },
	{ TREE_CPU "cpu0/cpufreq/scaling_governor", "powersave" },
	{ TREE_CPU "cpu0/cpufreq/scaling_driver", "intel_pstate" },
	{ TREE_CPU "cpu0/cpufreq/cpuinfo_min_freq", "800000" },
	{ TREE_CPU "cpu0/cpufreq/cpuinfo_max_freq", "5800000" },
	{ TREE_CPU "cpu0/cpufreq/base_frequency", "3000000" },
	{ TREE_CPU "cpu1/cpufreq/scaling_governor", "powersave" },
	{ TREE_CPU "cpu2/cpufreq/scaling_governor", "performance" },
	{ TREE_CPU "cpu2/cpufreq/cpuinfo_min_freq", "800000" },
	{ TREE_CPU "cpu2/cpufreq/cpuinfo_max_freq", "4300000" },
	{ "sys/devices/system/node/online", "0" },
	{ "sys/class/dmi/id/sys_vendor", "ASUS" },
	{ "sys/class/dmi/id/product_name", "System Product Name" },
	{ TREE_PMU "cpu_core/type", "4" },
	{ TREE_PMU "cpu_core/cpus", "0-1" },
	{ TREE_PMU "cpu_core/format/event", "config:0-7" },
	{ TREE_PMU "cpu_core/caps/branches", "32" },
	{ TREE_PMU "cpu_core/caps/pmu_name", "alderlake_hybrid" },
	{ TREE_PMU "cpu_core/events/slots", "event=0x00,umask=0x4" },
	{ TREE_PMU "cpu_core/rdpmc", "1" },
	{ TREE_PMU "cpu_atom/type", "10" },
	{ TREE_PMU "cpu_atom/cpus", "2-3" },
	{ TREE_PMU "cpu_atom/format/event", "config:0-7" },
	{ TREE_PMU "software/type", "1" },
	{ "proc/sys/kernel/perf_event_paranoid", "2" },
	{ "proc/sys/kernel/nmi_watchdog", "1" },
	{ "proc/sys/kernel/kptr_restrict", "1" },
	{ "proc/sys/kernel/perf_event_max_sample_rate", "100000" },
	{ "proc/sys/kernel/osrelease", "6.8.0-45-generic" },
	{ "proc/self/uid_map", "         0          0 4294967295" },
	{ "proc/self/status", "Name:\tculprit\nUid:\t1000\t1000\t1000\t1000\n"
			      "CapEff:\t0000000000000000\nNoNewPrivs:\t0\nSeccomp:\t0" },
	{ "proc/kallsyms", "0000000000000000 A fixed_percpu_data\n0000000000000000 T _stext" },
	{ NULL, NULL },
};

#define CPUINFO_ZEN4(number)                                                                       \
	"processor\t: " number "\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 17\n"    \
	"model name\t: AMD EPYC 9554 64-Core Processor\nstepping\t: 1\nmicrocode\t: 0xa10113e\n"   \
	"flags\t\t: fpu vme ibs perfctr_core perfmon_v2\n\n"

static const struct tree_file tree_amd_metal[] = {
	{ "proc/cpuinfo", CPUINFO_ZEN4("0") CPUINFO_ZEN4("1") },
	{ TREE_CPU "online", "0-1" },
	{ TREE_CPU "possible", "0-255" },
	{ TREE_CPU "smt/active", "0" },
	{ TREE_CPU "smt/control", "off" },
	{ TREE_CPU "cpufreq/boost", "1" },
	{ TREE_CPU "cpu0/cpufreq/scaling_governor", "schedutil" },
	{ TREE_CPU "cpu0/cpufreq/cpuinfo_min_freq", "1500000" },
	{ TREE_CPU "cpu0/cpufreq/cpuinfo_max_freq", "3762988" },
	{ TREE_CPU "cpu1/cpufreq/scaling_governor", "schedutil" },
	{ "sys/devices/system/node/online", "0-1" },
	{ "sys/class/dmi/id/sys_vendor", "Amazon EC2" },
	{ "sys/class/dmi/id/product_name", "m7a.metal-48xl" },
	{ TREE_PMU "cpu/type", "4" },
	{ TREE_PMU "cpu/format/event", "config:0-7,32-35" },
	{ TREE_PMU "cpu/format/umask", "config:8-15" },
	{ TREE_PMU "cpu/caps/branches", "16" },
	{ TREE_PMU "cpu/caps/max_precise", "0" },
	{ TREE_PMU "cpu/rdpmc", "2" },
	{ TREE_PMU "ibs_op/type", "11" },
	{ TREE_PMU "ibs_op/format/cnt_ctl", "config:19" },
	{ TREE_PMU "software/type", "1" },
	{ "proc/sys/kernel/perf_event_paranoid", "-1" },
	{ "proc/sys/kernel/nmi_watchdog", "0" },
	{ "proc/sys/kernel/kptr_restrict", "0" },
	{ "proc/sys/kernel/perf_event_mlock_kb", "516" },
	{ "proc/self/limits", "Limit                     Soft Limit           Hard Limit           "
			      "Units\nMax locked memory         8388608              unlimited"
			      "            bytes\nMax open files            1024                 "
			      "1048576              files" },
	{ "proc/self/uid_map", "0 0 4294967295" },
	{ "proc/self/status",
	  "Uid:\t0\t0\t0\t0\nCapEff:\t000001ffffffffff\nNoNewPrivs:\t0\nSeccomp:\t0" },
	{ "proc/kallsyms", "0000000000000000 A fixed_percpu_data\nffffffff81000000 T _stext" },
	{ NULL, NULL },
};

/* A Firecracker guest with no PMU at all. */
static const struct tree_file tree_vm[] = {
	{ "proc/cpuinfo", "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\n"
			  "model\t\t: 17\nmodel name\t: AMD EPYC\nstepping\t: 1\n"
			  "microcode\t: 0x1000065\nflags\t\t: fpu hypervisor lahf_lm\n" },
	{ TREE_CPU "online", "0" },
	{ TREE_CPU "possible", "0" },
	{ TREE_CPU "smt/active", "0" },
	{ TREE_CPU "smt/control", "notsupported" },
	{ "sys/firmware/acpi/tables/DSDT", "DSDT....xxFIRECKFCVMDSDT" },
	{ TREE_PMU "software/type", "1" },
	{ TREE_PMU "msr/type", "9" },
	{ "proc/sys/kernel/perf_event_paranoid", "2" },
	{ NULL, NULL },
};

#define CPUINFO_ARM(number, part, revision)                                                        \
	"processor\t: " number "\nBogoMIPS\t: 48.00\nFeatures\t: fp asimd\n"                       \
	"CPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x0\nCPU part\t: " part      \
	"\nCPU revision\t: " revision "\n\n"

static const struct tree_file tree_arm_big_little[] = {
	{ "proc/cpuinfo", CPUINFO_ARM("0", "0xd03", "4") CPUINFO_ARM("1", "0xd03", "4")
				  CPUINFO_ARM("2", "0xd08", "2") },
	{ TREE_CPU "online", "0-2" },
	{ TREE_CPU "possible", "0-5" },
	{ TREE_CPU "cpu2/regs/identification/midr_el1", "0x00000000410fd083" },
	{ TREE_CPU "cpu0/topology/thread_siblings_list", "0" },
	{ TREE_CPU "cpu2/cpufreq/cpuinfo_min_freq", "408000" },
	{ TREE_CPU "cpu2/cpufreq/cpuinfo_max_freq", "1800000" },
	{ "proc/device-tree/model", "Pine64 RockPro64 v2.1" },
	{ TREE_PMU "armv8_cortex_a53/type", "7" },
	{ TREE_PMU "armv8_cortex_a53/cpus", "0-1" },
	{ TREE_PMU "armv8_cortex_a72/type", "8" },
	{ TREE_PMU "armv8_cortex_a72/cpus", "2" },
	{ NULL, NULL },
};

/* No cpuinfo of use, no sysctl files, filtered system calls, capabilities within a user namespace.
 */
static const struct tree_file tree_container[] = {
	{ "proc/self/status", "Uid:\t0\t0\t0\t0\nCapEff:\t00000000a80425fb\nNoNewPrivs:\t1\n"
			      "Seccomp:\t2\nSeccomp_filters:\t1" },
	{ "proc/self/uid_map", "0 100000 65536" },
	{ "proc/self/cgroup",
	  "0::/kubepods.slice/kubepods-burstable.slice/cri-containerd-1.scope" },
	{ "proc/sys/kernel/perf_event_paranoid", "4" },
	{ "sys/kernel/security/lockdown", "none integrity [confidentiality]" },
	{ NULL, NULL },
};
