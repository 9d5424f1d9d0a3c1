/*
 * cpu_parts - the parts of cpu_info_read() that have files of their own. Internal to src/machine.
 */
#pragma once

#include "machine/cpu.h"

struct machine_root;

/* Fills virtual_machine, hypervisor, product and container. `flagged`: cpuinfo's flag "hypervisor".
 */
void cpu_info_read_platform(const struct machine_root *root, enum fact flagged,
			    struct cpu_info *info);
/* Fills governor, frequency_driver, boost, and the frequencies of each type. */
void cpu_info_read_frequency(const struct machine_root *root, struct cpu_info *info);
