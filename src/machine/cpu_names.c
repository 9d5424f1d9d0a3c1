#include "machine/cpu_names.h"

#include <stddef.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct {
	uint8_t implementer;
	const char *name;
} implementers[] = {
	{ 0x41, "Arm" },       { 0x42, "Broadcom" }, { 0x43, "Cavium" },    { 0x46, "Fujitsu" },
	{ 0x48, "HiSilicon" }, { 0x4e, "NVIDIA" },   { 0x50, "APM" },	    { 0x51, "Qualcomm" },
	{ 0x53, "Samsung" },   { 0x61, "Apple" },    { 0x6d, "Microsoft" }, { 0x70, "Phytium" },
	{ 0xc0, "Ampere" },
};

static const struct {
	uint8_t implementer;
	uint16_t part;
	const char *name;
} parts[] = {
	{ 0x41, 0xd02, "Cortex-A34" },
	{ 0x41, 0xd03, "Cortex-A53" },
	{ 0x41, 0xd04, "Cortex-A35" },
	{ 0x41, 0xd05, "Cortex-A55" },
	{ 0x41, 0xd06, "Cortex-A65" },
	{ 0x41, 0xd07, "Cortex-A57" },
	{ 0x41, 0xd08, "Cortex-A72" },
	{ 0x41, 0xd09, "Cortex-A73" },
	{ 0x41, 0xd0a, "Cortex-A75" },
	{ 0x41, 0xd0b, "Cortex-A76" },
	{ 0x41, 0xd0c, "Neoverse-N1" },
	{ 0x41, 0xd0d, "Cortex-A77" },
	{ 0x41, 0xd0e, "Cortex-A76AE" },
	{ 0x41, 0xd0f, "AEMv8" },
	{ 0x41, 0xd40, "Neoverse-V1" },
	{ 0x41, 0xd41, "Cortex-A78" },
	{ 0x41, 0xd42, "Cortex-A78AE" },
	{ 0x41, 0xd44, "Cortex-X1" },
	{ 0x41, 0xd46, "Cortex-A510" },
	{ 0x41, 0xd47, "Cortex-A710" },
	{ 0x41, 0xd48, "Cortex-X2" },
	{ 0x41, 0xd49, "Neoverse-N2" },
	{ 0x41, 0xd4a, "Neoverse-E1" },
	{ 0x41, 0xd4b, "Cortex-A78C" },
	{ 0x41, 0xd4c, "Cortex-X1C" },
	{ 0x41, 0xd4d, "Cortex-A715" },
	{ 0x41, 0xd4e, "Cortex-X3" },
	{ 0x41, 0xd4f, "Neoverse-V2" },
	{ 0x41, 0xd80, "Cortex-A520" },
	{ 0x41, 0xd81, "Cortex-A720" },
	{ 0x41, 0xd82, "Cortex-X4" },
	{ 0x41, 0xd84, "Neoverse-V3" },
	{ 0x41, 0xd85, "Cortex-X925" },
	{ 0x41, 0xd87, "Cortex-A725" },
	{ 0x41, 0xd8e, "Neoverse-N3" },
	{ 0x42, 0x516, "ThunderX2" },
	{ 0x43, 0x0a1, "ThunderX" },
	{ 0x43, 0x0af, "ThunderX2" },
	{ 0x46, 0x001, "A64FX" },
	{ 0x48, 0xd01, "TSV110" },
	{ 0x4e, 0x004, "Carmel" },
	{ 0x50, 0x000, "X-Gene" },
	{ 0x51, 0x001, "Oryon" },
	{ 0x51, 0x800, "Kryo-2xx-Gold" },
	{ 0x51, 0x801, "Kryo-2xx-Silver" },
	{ 0x51, 0x804, "Kryo-4xx-Gold" },
	{ 0x51, 0x805, "Kryo-4xx-Silver" },
	{ 0x51, 0xc00, "Falkor" },
	{ 0x61, 0x022, "Icestorm-M1" },
	{ 0x61, 0x023, "Firestorm-M1" },
	{ 0x61, 0x024, "Icestorm-M1-Pro" },
	{ 0x61, 0x025, "Firestorm-M1-Pro" },
	{ 0x61, 0x028, "Icestorm-M1-Max" },
	{ 0x61, 0x029, "Firestorm-M1-Max" },
	{ 0x61, 0x032, "Blizzard-M2" },
	{ 0x61, 0x033, "Avalanche-M2" },
	{ 0x6d, 0xd49, "Azure-Cobalt-100" },
	{ 0xc0, 0xac3, "Ampere-1" },
	{ 0xc0, 0xac4, "Ampere-1A" },
};

static const struct {
	const char *signature;
	const char *name;
} hypervisors[] = {
	{ "KVMKVMKVM", "KVM" },		 { "VMwareVMware", "VMware" },
	{ "Microsoft Hv", "Hyper-V" },	 { "XenVMMXenVMM", "Xen" },
	{ "TCGTCGTCGTCG", "QEMU TCG" },	 { "VBoxVBoxVBox", "VirtualBox" },
	{ "bhyve bhyve ", "bhyve" },	 { "ACRNACRNACRN", "ACRN" },
	{ " lrpepyh  vr", "Parallels" }, { "QNXQVMBSQG", "QNX" },
	{ "SRESRESRESRE", "LMHS" },	 { "Jailhouse", "Jailhouse" },
};

/* MIDR_EL1: implementer in bits 31-24, part in 15-4. */
const char *midr_implementer_name(uint64_t midr)
{
	for (size_t i = 0; i < COUNT(implementers); i++)
		if (implementers[i].implementer == (midr >> 24 & 0xff))
			return implementers[i].name;
	return NULL;
}

const char *midr_part_name(uint64_t midr)
{
	for (size_t i = 0; i < COUNT(parts); i++)
		if (parts[i].implementer == (midr >> 24 & 0xff) &&
		    parts[i].part == (midr >> 4 & 0xfff))
			return parts[i].name;
	return NULL;
}

const char *hypervisor_signature_name(const char *signature)
{
	for (size_t i = 0; i < COUNT(hypervisors); i++)
		if (strcmp(hypervisors[i].signature, signature) == 0)
			return hypervisors[i].name;
	return NULL;
}
