#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "machine/cpu.h"
#include "trees.h"

static struct cpu_info info; /* large */

static void read_tree(const struct tree_file *files)
{
	CLEANUP(tree_remove) struct tree tree;
	tree_make(&tree, files);
	cpu_info_read(&tree.root, &info);
}

static void an_intel_hybrid_has_two_types_named_as_their_pmus(void **state)
{
	(void)state;
	char text[256];
	read_tree(tree_intel_hybrid);
	assert_string_equal(info.architecture, "x86_64");
	assert_int_equal(info.vendor, CPU_VENDOR_INTEL);
	assert_int_equal(info.type_count, 2);
	assert_string_equal(info.types[0].name, "cpu_core");
	assert_string_equal(info.types[1].name, "cpu_atom");
	assert_string_equal(info.types[0].model_name, "13th Gen Intel(R) Core(TM) i9-13900K");
	assert_int_equal(cpu_set_count(&info.types[1].cpus), 2);
	assert_true(cpu_set_has(&info.types[1].cpus, 3));
	assert_int_equal(info.types[0].max_hz, 5800000000);
	assert_int_equal(info.types[1].max_hz, 4300000000);
	assert_int_equal(info.types[0].microcode, 0x129);
	assert_int_equal(info.smt, FACT_YES);
	assert_int_equal(info.boost, FACT_YES);
	assert_string_equal(info.governor, "powersave, performance");
	assert_string_equal(info.frequency_driver, "intel_pstate");
	assert_int_equal(info.virtual_machine, FACT_NO);
	assert_int_equal(info.nodes, 1);
	cpu_info_format_model(&info, text, sizeof(text));
	assert_string_equal(text, "06-b7-01");
	cpu_info_format_frequency(&info, text, sizeof(text));
	assert_string_equal(text, "800 MHz to 5.8 GHz, base 3 GHz (cpu_core), "
				  "800 MHz to 4.3 GHz (cpu_atom)");
}

static void amd_metal_in_a_cloud_is_no_virtual_machine(void **state)
{
	(void)state;
	char text[256];
	read_tree(tree_amd_metal);
	assert_int_equal(info.vendor, CPU_VENDOR_AMD);
	assert_int_equal(info.type_count, 1);
	assert_string_equal(info.types[0].name, "");
	assert_int_equal(info.virtual_machine, FACT_NO);
	assert_string_equal(info.hypervisor, "");
	assert_string_equal(info.product, "Amazon EC2 m7a.metal-48xl");
	assert_int_equal(info.smt, FACT_NO);
	assert_string_equal(info.smt_text, "off");
	assert_int_equal(info.nodes, 2);
	assert_int_equal(cpu_set_count(&info.possible), 256);
	cpu_info_format_model(&info, text, sizeof(text));
	assert_string_equal(text, "19-11-01");
	cpu_info_format_microcode(&info, text, sizeof(text));
	assert_string_equal(text, "0xa10113e");
}

static void a_vm_is_known_by_its_flag_and_firmware(void **state)
{
	(void)state;
	read_tree(tree_vm);
	assert_int_equal(info.virtual_machine, FACT_YES);
	assert_string_equal(info.hypervisor, "Firecracker (KVM)");
	assert_string_equal(info.product, "");
	assert_string_equal(info.governor, "");
	assert_int_equal(info.boost, FACT_UNKNOWN);
	assert_int_equal(info.nodes, CPU_UNKNOWN_U64);
	assert_int_equal(info.types[0].max_hz, CPU_UNKNOWN_U64);
}

static void arm_clusters_are_told_apart_by_midr(void **state)
{
	(void)state;
	char text[256];
	read_tree(tree_arm_big_little);
	assert_string_equal(info.architecture, "aarch64");
	assert_int_equal(info.vendor, CPU_VENDOR_ARM);
	assert_string_equal(info.vendor_name, "Arm");
	assert_int_equal(info.type_count, 2);
	assert_string_equal(info.types[0].name, "armv8_cortex_a53");
	assert_string_equal(info.types[0].model_name, "Cortex-A53");
	assert_int_equal(info.types[0].midr, 0x410fd034);
	assert_string_equal(info.types[1].model_name, "Cortex-A72");
	assert_int_equal(info.types[1].midr, 0x410fd083);
	assert_int_equal(info.types[0].family, CPU_UNKNOWN_U64);
	assert_int_equal(info.smt, FACT_NO);
	assert_string_equal(info.product, "Pine64 RockPro64 v2.1");
	assert_int_equal(info.virtual_machine, FACT_NO);
	cpu_info_format_model(&info, text, sizeof(text));
	assert_string_equal(text, "MIDR 0x410fd034, MIDR 0x410fd083");
}

static void what_a_container_hides_is_unknown(void **state)
{
	(void)state;
	char text[64];
	read_tree(tree_container);
	assert_string_equal(info.architecture, "");
	assert_int_equal(info.vendor, CPU_VENDOR_UNKNOWN);
	assert_int_equal(info.type_count, 1);
	assert_int_equal(info.types[0].family, CPU_UNKNOWN_U64);
	assert_int_equal(info.types[0].microcode, CPU_UNKNOWN_U64);
	assert_true(cpu_set_empty(&info.online));
	assert_int_equal(info.smt, FACT_UNKNOWN);
	assert_int_equal(info.virtual_machine, FACT_UNKNOWN);
	assert_string_equal(info.container, "kubernetes");
	cpu_info_format_model(&info, text, sizeof(text));
	assert_string_equal(text, "unknown");
	cpu_info_format_microcode(&info, text, sizeof(text));
	assert_string_equal(text, "");
	cpu_info_format_frequency(&info, text, sizeof(text));
	assert_string_equal(text, "");
}

static void damaged_cpuinfo_is_survived_at_every_cut(void **state)
{
	(void)state;
	const char *whole = tree_intel_hybrid[0].content;
	static char text[4096];
	for (size_t cut = 0; cut < strlen(whole); cut += 7) {
		memcpy(text, whole, cut);
		text[cut] = 0;
		const struct tree_file files[] = { { "proc/cpuinfo", text }, { NULL, NULL } };
		read_tree(files);
		assert_in_range(info.type_count, 1, 4);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_intel_hybrid_has_two_types_named_as_their_pmus),
		cmocka_unit_test(amd_metal_in_a_cloud_is_no_virtual_machine),
		cmocka_unit_test(a_vm_is_known_by_its_flag_and_firmware),
		cmocka_unit_test(arm_clusters_are_told_apart_by_midr),
		cmocka_unit_test(what_a_container_hides_is_unknown),
		cmocka_unit_test(damaged_cpuinfo_is_survived_at_every_cut),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
