#include <stdio.h>
#include <string.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/buffer.h"
#include "base/cleanup.h"
#include "machine/cpu_names.h"
#include "machine/cpu_parts.h"
#include "machine/machine_root.h"

static void set_hypervisor(struct cpu_info *info, const char *name)
{
	info->virtual_machine = FACT_YES;
	if (name && !info->hypervisor[0])
		snprintf(info->hypervisor, sizeof(info->hypervisor), "%s", name);
}

/* Hypervisors that imitate another one for Windows show their own signature 0x100 further on. */
static void ask_cpuid(struct cpu_info *info)
{
#if defined(__x86_64__)
	unsigned int a, b, c, d;
	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c >> 31))
		return;
	for (int leaf = 0x40000100; leaf >= 0x40000000; leaf -= 0x100) {
		char signature[13] = "";
		__cpuid(leaf, a, b, c, d);
		memcpy(signature, &b, 4);
		memcpy(signature + 4, &c, 4);
		memcpy(signature + 8, &d, 4);
		const char *name = hypervisor_signature_name(signature);
		if (name) {
			set_hypervisor(info, name);
			return;
		}
	}
	set_hypervisor(info, NULL);
#else
	(void)info;
#endif
}

static bool starts_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), tail = strlen(end);
	return length >= tail && strcmp(text + length - tail, end) == 0;
}

/* What the firmware calls the machine. A cloud's bare-metal types say ".metal". */
static void read_product(const struct machine_root *root, struct cpu_info *info)
{
	char vendor[48] = "", product[64] = "";
	root_read_line(root, "sys/class/dmi/id/sys_vendor", vendor, sizeof(vendor));
	root_read_line(root, "sys/class/dmi/id/product_name", product, sizeof(product));
	snprintf(info->product, sizeof(info->product), "%s%s%s", vendor,
		 vendor[0] && product[0] ? " " : "", product);
	if (!info->product[0])
		root_read_line(root, "proc/device-tree/model", info->product,
			       sizeof(info->product));
	bool metal = ends_with(product, ".metal") || strstr(product, ".metal-");
	if (metal)
		return;
	if (strcmp(vendor, "Amazon EC2") == 0)
		set_hypervisor(info, "Nitro (KVM)");
	else if (strcmp(vendor, "QEMU") == 0)
		set_hypervisor(info, "QEMU");
	else if (strcmp(product, "Google Compute Engine") == 0)
		set_hypervisor(info, "KVM");
	else if (starts_with(vendor, "VMware"))
		set_hypervisor(info, "VMware");
	else if (starts_with(vendor, "Microsoft") && strcmp(product, "Virtual Machine") == 0)
		set_hypervisor(info, "Hyper-V");
	else if (starts_with(vendor, "innotek") || strcmp(product, "VirtualBox") == 0)
		set_hypervisor(info, "VirtualBox");
	else if (strcmp(vendor, "Xen") == 0)
		set_hypervisor(info, "Xen");
	else if (strcmp(product, "KVM") == 0)
		set_hypervisor(info, "KVM");
}

/* The firmware tables of Firecracker carry its name as their OEM (byte 10 of the header, six
 * letters). */
static void name_firecracker(const struct machine_root *root, struct cpu_info *info)
{
	CLEANUP(buffer_release) struct buffer table = { 0 };
	if (root_read_text(root, "sys/firmware/acpi/tables/DSDT", &table) || table.size < 16 ||
	    memcmp(table.data + 10, "FIRECK", 6) != 0)
		return;
	info->virtual_machine = FACT_YES;
	snprintf(info->hypervisor, sizeof(info->hypervisor), "Firecracker (KVM)");
}

static void read_device_tree(const struct machine_root *root, struct cpu_info *info)
{
	char line[CPU_TEXT_SIZE];
	if (root_read_line(root, "proc/device-tree/hypervisor/compatible", line, sizeof(line)) == 0)
		set_hypervisor(info, starts_with(line, "linux,kvm") ? "KVM"
				     : starts_with(line, "xen")	    ? "Xen"
								    : line);
	if (root_read_line(root, "proc/device-tree/compatible", line, sizeof(line)) == 0 &&
	    starts_with(line, "linux,dummy-virt"))
		set_hypervisor(info, "QEMU");
	if (root_exists(root, "sys/firmware/qemu_fw_cfg"))
		set_hypervisor(info, "QEMU");
}

static const char *container_word(const char *text)
{
	static const struct {
		const char *mark, *name;
	} marks[] = { { "kubepods", "kubernetes" },   { "docker", "docker" },
		      { "libpod", "podman" },	      { "containers/storage", "podman" },
		      { "containerd", "containerd" }, { "/lxc", "lxc" } };
	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		if (strstr(text, marks[i].mark))
			return marks[i].name;
	return NULL;
}

/* The line of mountinfo whose mount point is "/". */
static const char *root_mount(char *mounts)
{
	for (char *line = mounts; *line;) {
		char *end = line + strcspn(line, "\n");
		bool last = *end == 0;
		*end = 0;
		char point[8] = "";
		if (sscanf(line, "%*s %*s %*s %*s %7s", point) == 1 && strcmp(point, "/") == 0)
			return line;
		line = last ? end : end + 1;
	}
	return "";
}

/* Machines are made from container images too: the marks of an image mean little in the first PID
 * namespace. */
static bool in_first_namespace(const struct machine_root *root)
{
	char link[32] = "";
	ssize_t length = readlinkat(root->fd, "proc/self/ns/pid", link, sizeof(link) - 1);
	/* PROC_PID_INIT_INO in the kernel's proc_ns.h */
	return length > 0 && strcmp(link, "pid:[4026531836]") == 0;
}

static void read_container(const struct machine_root *root, struct cpu_info *info)
{
	CLEANUP(buffer_release) struct buffer cgroup = { 0 };
	CLEANUP(buffer_release) struct buffer mounts = { 0 };
	char line[64];
	const char *name = NULL;
	root_read_text(root, "proc/self/cgroup", &cgroup);
	root_read_text(root, "proc/self/mountinfo", &mounts);
	name = container_word(buffer_text(&cgroup));
	if (!name)
		name = container_word(root_mount((char *)buffer_text(&mounts)));
	bool marks = !name && !in_first_namespace(root);
	if (marks && root_exists(root, ".dockerenv"))
		name = "docker";
	else if (marks && root_exists(root, "run/.containerenv"))
		name = "podman";
	else if (marks && root_read_line(root, "run/systemd/container", line, sizeof(line)) == 0 &&
		 line[0])
		name = line;
	if (name)
		snprintf(info->container, sizeof(info->container), "%s", name);
}

void cpu_info_read_platform(const struct machine_root *root, enum fact flagged,
			    struct cpu_info *info)
{
	char line[CPU_TEXT_SIZE];
	if (root->live)
		ask_cpuid(info);
	if (flagged == FACT_YES)
		info->virtual_machine = FACT_YES;
	if (root_read_line(root, "sys/hypervisor/type", line, sizeof(line)) == 0 && line[0])
		set_hypervisor(info, strcmp(line, "xen") == 0 ? "Xen" : line);
	read_product(root, info);
	read_device_tree(root, info);
	if (info->virtual_machine != FACT_NO)
		name_firecracker(root, info);
	/* x86 hypervisors show themselves by the flag; elsewhere only firmware that names a real
	 * product tells. */
	if (info->virtual_machine == FACT_UNKNOWN && (flagged == FACT_NO || info->product[0]))
		info->virtual_machine = FACT_NO;
	read_container(root, info);
}
