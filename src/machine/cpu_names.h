/*
 * cpu_names - what identification numbers mean: Arm's implementers and parts,
 * hypervisors' signatures. Tables from the makers' manuals and from the kernel's cputype.h.
 */
#pragma once

#include <stdint.h>

/* "Arm", "Apple", ...; NULL when the implementer is not in the table. */
const char *midr_implementer_name(uint64_t midr);
/* "Neoverse-N1"; NULL when the part is not in the table. */
const char *midr_part_name(uint64_t midr);
/* cpuid leaf 0x40000000's 12 letters: "KVM" for "KVMKVMKVM"; NULL when unknown. */
const char *hypervisor_signature_name(const char *signature);
