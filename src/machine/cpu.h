/*
 * cpu - what processor this is: model per core type, SMT, frequency, boost,
 * NUMA, hypervisor. Everything comes from a machine_root (and from cpuid when
 * that is the real machine). What cannot be read is "unknown": an empty text, an
 * optional number that is absent, or enum fact FACT_UNKNOWN; never an error.
 *
 * A struct cpu_info owns nothing; it is large (some 20 KiB), so keep one and
 * pass its address. Fill it once, before threads start; then it only reads.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "machine/cpu_set.h"

struct machine_root;

#define CPU_TEXT_SIZE 128
#define CPU_MAX_TYPES                                                                              \
	8 /* core types; Arm parts with three clusters exist, Intel's with three too */
#define CPU_UNKNOWN_U64 UINT64_MAX

enum fact { FACT_UNKNOWN, FACT_NO, FACT_YES };

enum cpu_vendor {
	CPU_VENDOR_UNKNOWN,
	CPU_VENDOR_INTEL,
	CPU_VENDOR_AMD,
	CPU_VENDOR_HYGON,
	CPU_VENDOR_ARM /* every arm64 implementer; the MIDR says which */
};

/* Cores of one kind. A machine that is not hybrid has one. */
struct cpu_type {
	char name[CPU_TEXT_SIZE]; /* "cpu_core", "cpu_atom", "cortex-a72"; "" when there is one kind
				   */
	char model_name[CPU_TEXT_SIZE]; /* "AMD EPYC 9554 64-Core Processor", "Cortex-A72"; ""
					   unknown */
	struct cpu_set cpus;
	uint64_t family, model, stepping; /* x86; CPU_UNKNOWN_U64 elsewhere and when unknown */
	uint64_t midr;			  /* arm64; else CPU_UNKNOWN_U64 */
	uint64_t microcode;		  /* CPU_UNKNOWN_U64: unknown */
	uint64_t min_hz, max_hz, base_hz; /* of the clock; CPU_UNKNOWN_U64: unknown */
};

struct cpu_info {
	char architecture[16]; /* "x86_64", "aarch64", "" unknown */
	enum cpu_vendor vendor;
	char vendor_name[CPU_TEXT_SIZE]; /* "GenuineIntel", "AuthenticAMD", "Arm", "Apple", ""
					    unknown */
	struct cpu_type types[CPU_MAX_TYPES];
	size_t type_count;   /* at least 1 */
	bool types_left_out; /* there are more kinds than CPU_MAX_TYPES */

	struct cpu_set online, possible; /* empty: unknown */
	uint64_t nodes;			 /* NUMA nodes; CPU_UNKNOWN_U64: unknown */
	enum fact smt;			 /* two threads share a core now */
	char smt_text[CPU_TEXT_SIZE];	 /* as /sys says: "on", "off", "notsupported"; "" unknown */
	char governor[CPU_TEXT_SIZE]; /* "performance", "powersave, schedutil" when CPUs differ; ""
					 unknown */
	char frequency_driver[CPU_TEXT_SIZE]; /* "intel_pstate", "" unknown */
	enum fact boost;		      /* turbo may raise the clock */

	enum fact virtual_machine;
	char hypervisor[CPU_TEXT_SIZE]; /* "KVM", "VMware", "Firecracker (KVM)", "" unknown or none
					 */
	char product[CPU_TEXT_SIZE]; /* DMI or device tree: "Amazon EC2 m5.metal", "" unreadable */
	char container[CPU_TEXT_SIZE]; /* "docker", "lxc", "kubernetes", ...; "" none seen */
};

void cpu_info_read(const struct machine_root *root, struct cpu_info *info);

/* As cpu_model.h spells it, or "unknown"; types joined by ", ". */
void cpu_info_format_model(const struct cpu_info *info, char *text, size_t size);
/* "0x1000065", types joined by ", "; "" when unknown. */
void cpu_info_format_microcode(const struct cpu_info *info, char *text, size_t size);
/* "800 MHz to 5.2 GHz", types joined by ", "; "" when unknown. */
void cpu_info_format_frequency(const struct cpu_info *info, char *text, size_t size);
