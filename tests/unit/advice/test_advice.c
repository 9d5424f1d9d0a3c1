#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "advice/advice.h"
#include "base/cleanup.h"
#include "machine/trees.h"

/* A machine from a tree, with probes as they would have gone there. */
struct patient {
	struct cpu_info cpu;
	struct pmu_list pmus;
	struct rights rights;
	struct machine_probe probe;
	struct perf_features features;
	struct sample_cost cost;
	struct facts facts;
	struct advice advice;
};

static struct patient patient; /* large */

static const struct perf_features modern = { .format_lost = FACT_YES,
					     .inherit_read_tid = FACT_YES,
					     .build_id = FACT_YES,
					     .ksymbol = FACT_YES,
					     .text_poke = FACT_YES };

static void examine(const struct tree_file *files, const struct machine_probe *probe,
		    const char *event)
{
	CLEANUP(tree_remove) struct tree tree;
	memset(&patient, 0, sizeof(patient));
	tree_make(&tree, files);
	cpu_info_read(&tree.root, &patient.cpu);
	rights_read(&tree.root, &patient.rights);
	pmu_list_read(&tree.root, &patient.pmus, NULL);
	patient.probe = *probe;
	patient.features = modern;
	patient.facts = (struct facts){ .cpu = &patient.cpu,
					.pmus = &patient.pmus,
					.rights = &patient.rights,
					.probe = &patient.probe,
					.features = &patient.features,
					.event = event,
					.program = "/usr/bin/culprit" };
}

static void give(void)
{
	assert_int_equal(advice_give(&patient.facts, &patient.advice), 0);
}

static int release(void **state)
{
	(void)state;
	advice_release(&patient.advice);
	pmu_list_release(&patient.pmus);
	return 0;
}

static const struct finding *find(const char *key)
{
	for (size_t i = 0; i < patient.advice.count; i++)
		if (strcmp(patient.advice.findings[i].key, key) == 0)
			return &patient.advice.findings[i];
	return NULL;
}

static void says(const char *key, enum finding_state state, const char *what, const char *cure)
{
	const struct finding *finding = find(key);
	if (!finding)
		fail_msg("nothing is said about '%s'", key);
	assert_string_equal(finding->what, what);
	assert_string_equal(finding->cure, cure);
	assert_int_equal(finding->state, state);
}

#define SETCAP "setcap cap_perfmon,cap_bpf,cap_sys_ptrace,cap_syslog+ep /usr/bin/culprit"

static void an_ordinary_user_on_a_hybrid_gets_exact_cures(void **state)
{
	(void)state;
	static const struct machine_probe probe = { .clock = -EACCES,
						    .cycles = -EACCES,
						    .all_processes = -EACCES,
						    .counters = 7,
						    .rdpmc = FACT_YES,
						    .topdown = FACT_YES,
						    .topdown_how = "levels 1 and 2",
						    .branch_stack = FACT_YES,
						    .precise = 3,
						    .ibs = -ENXIO,
						    .spe = -ENXIO,
						    .bpf = -EPERM,
						    .btf = FACT_YES };
	examine(tree_intel_hybrid, &probe, "{cycles:u,instructions:u}");
	give();
	assert_true(patient.advice.can_record);
	assert_string_equal(patient.advice.verdict,
			    "culprit record works here: {cycles:u,instructions:u}, user code only, "
			    "your own processes");
	says("paranoid", FINDING_LIMIT, "perf_event_paranoid is 2",
	     "sudo sysctl -w kernel.perf_event_paranoid=0");
	says("capabilities", FINDING_LIMIT,
	     "missing capabilities: cap_perfmon, cap_bpf, cap_sys_ptrace, cap_syslog",
	     "sudo " SETCAP);
	says("kernel-names", FINDING_LIMIT, "kernel addresses are hidden (kptr_restrict 1)",
	     "sudo sysctl -w kernel.kptr_restrict=0 kernel.perf_event_paranoid=0");
	says("bpf", FINDING_LIMIT, "BPF programs may not be loaded", "sudo " SETCAP);
	says("counters", FINDING_OK,
	     "PMU cpu_atom, cpu_core (alderlake_hybrid): 7 general counters free", "");
	says("nmi-watchdog", FINDING_LIMIT, "the NMI watchdog holds a counter on every CPU",
	     "sudo sysctl -w kernel.nmi_watchdog=0");
	says("precise", FINDING_OK, "precise samples: PEBS, up to :ppp", "");
	says("core-types", FINDING_LIMIT, "2 core types: cpu_core (CPUs 0-1), cpu_atom (CPUs 2-3)",
	     "taskset -c CPUS COMMAND keeps a program on one type");
	says("smt", FINDING_LIMIT, "SMT is on: two threads share a core",
	     "echo off | sudo tee /sys/devices/system/cpu/smt/control");
	says("governor", FINDING_LIMIT,
	     "frequency governor: powersave, performance, driver intel_pstate",
	     "echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor");
	says("turbo", FINDING_LIMIT, "turbo is on",
	     "echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo");
	assert_null(find("system-wide")); /* paranoid and capabilities say it */
}

static void root_on_metal_has_little_to_cure(void **state)
{
	(void)state;
	static const struct machine_probe probe = { .counters = 6,
						    .rdpmc = FACT_YES,
						    .topdown = FACT_YES,
						    .topdown_how = "levels 1 and 2",
						    .branch_stack = FACT_YES,
						    .spe = -ENXIO,
						    .btf = FACT_YES };
	examine(tree_amd_metal, &probe, "{cycles,instructions,ref-cycles}");
	patient.cost =
		(struct sample_cost){ .ns = 1600, .low_ns = 1400, .high_ns = 2100, .samples = 900 };
	patient.facts.cost = &patient.cost;
	give();
	assert_string_equal(
		patient.advice.verdict,
		"culprit record works here: {cycles,instructions,ref-cycles}, user and kernel "
		"code, every process (-a); 1 % of a CPU buys 6250 samples a second");
	says("sample-cost", FINDING_OK,
	     "one sample costs 1.6 us (1.4 us to 2.1 us in 80 % of 900); 1 % of a CPU buys 6250 a "
	     "second",
	     "");
	says("precise", FINDING_OK, "precise samples: IBS (ibs_op)", "");
	says("branches", FINDING_OK, "branch records (LBR), depth 16", "");
	says("counters", FINDING_OK, "PMU cpu: 6 general counters free", "");
	says("machine", FINDING_OK, "bare metal: Amazon EC2 m7a.metal-48xl", "");
	says("nmi-watchdog", FINDING_OK, "the NMI watchdog is off", "");
	says("turbo", FINDING_LIMIT, "turbo is on",
	     "echo 0 >/sys/devices/system/cpu/cpufreq/boost");
	for (size_t i = 0; i < patient.advice.count; i++)
		assert_int_not_equal(patient.advice.findings[i].state, FINDING_STOP);
}

static void a_vm_without_pmu_says_so_once_and_names_its_hypervisor(void **state)
{
	(void)state;
	static const struct machine_probe probe = { .cycles = -ENOENT,
						    .cycles_user = -ENOENT,
						    .ibs = -ENXIO,
						    .spe = -ENXIO,
						    .btf = FACT_YES };
	examine(tree_vm, &probe, "cpu-clock");
	give();
	assert_string_equal(
		patient.advice.verdict,
		"culprit record works here: cpu-clock (no PMU in this virtual machine), user "
		"and kernel code, every process (-a)");
	says("counters", FINDING_LIMIT, "no hardware counters: this virtual machine has no PMU",
	     "none inside: Firecracker has no virtual PMU; use metal, or QEMU with -cpu "
	     "host,pmu=on");
	assert_null(find("rdpmc"));
	assert_null(find("topdown"));
	assert_null(find("nmi-watchdog"));
}

static void a_locked_container_says_what_to_do_outside(void **state)
{
	(void)state;
	static const struct machine_probe probe = { .clock = -EPERM,
						    .clock_user = -EPERM,
						    .cycles = -EPERM,
						    .cycles_user = -EPERM,
						    .all_processes = -EPERM,
						    .ibs = -ENXIO,
						    .spe = -ENXIO,
						    .bpf = -EPERM };
	examine(tree_container, &probe, NULL);
	patient.facts.event_refusal = "cannot sample even 'cpu-clock': permission denied";
	patient.facts.cost_refusal = "cannot be seen while no event opens";
	patient.features = (struct perf_features){ 0 };
	give();
	assert_false(patient.advice.can_record);
	assert_string_equal(patient.advice.verdict, "nothing can be recorded: cannot sample even "
						    "'cpu-clock': permission denied");
	says("paranoid", FINDING_STOP, "perf_event_paranoid is 4",
	     "on the host: sudo sysctl -w kernel.perf_event_paranoid=1");
	assert_int_equal(find("seccomp")->state, FINDING_STOP);
	assert_non_null(strstr(find("seccomp")->cure, "seccomp=unconfined"));
	says("bpf", FINDING_LIMIT, "BPF programs may not be loaded",
	     "boot without lockdown=confidentiality");
	says("counters", FINDING_UNKNOWN,
	     "hardware counters: unknown until perf events are allowed", "");
	assert_int_equal(find("processor")->state, FINDING_UNKNOWN);
	assert_int_equal(find("kernel")->state, FINDING_UNKNOWN);
}

static void arm_clusters_with_a_closed_switch_name_it(void **state)
{
	(void)state;
	static const struct machine_probe probe = { .counters = 6,
						    .rdpmc = FACT_NO,
						    .topdown = FACT_NO,
						    .branch_stack = FACT_NO,
						    .precise = 3,
						    .ibs = -ENXIO,
						    .spe = -ENXIO,
						    .btf = FACT_YES };
	examine(tree_arm_big_little, &probe, "{cycles,instructions}");
	patient.rights.perf_user_access = 0;
	patient.rights.uid = 0;
	give();
	says("rdpmc", FINDING_LIMIT, "programs may not read their counters themselves",
	     "sysctl -w kernel.perf_user_access=1");
	/* Arm kernels accept precise_ip = 3 and mean nothing by it. */
	says("precise", FINDING_LIMIT, "no precise samples (PEBS, IBS, SPE)", "");
	says("core-types", FINDING_LIMIT,
	     "2 core types: armv8_cortex_a53 (CPUs 0-1), armv8_cortex_a72 (CPUs 2)",
	     "taskset -c CPUS COMMAND keeps a program on one type");
}

static void old_kernels_want_cap_sys_admin(void **state)
{
	(void)state;
	static const struct machine_probe probe = { .all_processes = -EACCES,
						    .clock = -EACCES,
						    .bpf = -EPERM,
						    .ibs = -ENXIO,
						    .spe = -ENXIO };
	examine(tree_intel_hybrid, &probe, "cpu-clock:u");
	strcpy(patient.rights.kernel, "5.4.0-150-generic");
	patient.facts.program = "/opt/my tools/culprit";
	patient.features.format_lost = FACT_NO;
	give();
	assert_string_equal(find("capabilities")->cure,
			    "sudo setcap cap_sys_admin,cap_sys_ptrace,cap_syslog+ep "
			    "'/opt/my tools/culprit'");
	assert_string_equal(find("kernel")->means,
			    "losses are known as 'at least' (needs Linux 6.0)");
}

static void doctor_says_how_helpers_are_confined(void **state)
{
	(void)state;
	static const struct machine_probe probe = { .btf = FACT_YES };
	struct confinement_layers layers = { .landlock_abi = 7 };
	examine(tree_arm_big_little, &probe, "{cycles,instructions}");
	patient.facts.helpers = &layers;
	give();
	says("helpers", FINDING_OK,
	     "helper processes are confined: a filter of system calls (seccomp), Landlock (ABI 7), "
	     "no "
	     "new privileges",
	     "");
	release(NULL);
	layers.landlock_abi = 0;
	layers.missing[CONFINEMENT_PARSE] = CONFINEMENT_LANDLOCK | CONFINEMENT_LANDLOCK_TCP |
					    CONFINEMENT_LANDLOCK_PEER | CONFINEMENT_OWN_USER;
	examine(tree_arm_big_little, &probe, "{cycles,instructions}");
	patient.facts.helpers = &layers;
	give();
	says("helpers", FINDING_OK,
	     "helper processes are confined: a filter of system calls (seccomp), no Landlock, no "
	     "new "
	     "privileges; no user of its own (a user namespace)",
	     "");
	release(NULL);
	layers.missing[CONFINEMENT_OPEN] = CONFINEMENT_FILTER;
	examine(tree_arm_big_little, &probe, "{cycles,instructions}");
	patient.facts.helpers = &layers;
	give();
	says("helpers", FINDING_LIMIT,
	     "helper processes that read strangers' files have no filter of system calls "
	     "(seccomp), no "
	     "Landlock, no user of its own (a user namespace)",
	     "a kernel with CONFIG_SECCOMP_FILTER, and no emulator around culprit");
	assert_non_null(strstr(find("helpers")->means, "make processes"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(an_ordinary_user_on_a_hybrid_gets_exact_cures, release),
		cmocka_unit_test_teardown(root_on_metal_has_little_to_cure, release),
		cmocka_unit_test_teardown(a_vm_without_pmu_says_so_once_and_names_its_hypervisor,
					  release),
		cmocka_unit_test_teardown(a_locked_container_says_what_to_do_outside, release),
		cmocka_unit_test_teardown(arm_clusters_with_a_closed_switch_name_it, release),
		cmocka_unit_test_teardown(doctor_says_how_helpers_are_confined, release),
		cmocka_unit_test_teardown(old_kernels_want_cap_sys_admin, release),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
